//! YAML, references, schemas.

use trilith::ErrorKind::{Io, Limit, Malformed};

use super::make::{Block, Cases, Expect, HEAD, Role, asdf};

pub(crate) fn all(cases: &mut Cases) {
    yaml(cases);
    text(cases);
    references(cases);
    sandbox(cases);
    schemas(cases);
}

fn yaml(cases: &mut Cases) {
    // Aliases stay shared, so that reading is cheap; what expands them has a budget.
    let laughs = |open: &str, close: &str| {
        let mut tree = format!("a0: &a0 {open}x, x, x, x, x, x, x, x, x{close}\n");
        for n in 1..30 {
            let below = format!("*a{}, ", n - 1).repeat(9);
            tree.push_str(&format!("a{n}: &a{n} {open}{below}{close}\n"));
        }
        tree
    };
    cases.limit("yaml: a billion laughs of lists", asdf(&laughs("[", "]"), &[])).limits = Some("expansion=100000");
    let mut maps = "m0: &m0 {k0: x}\n".to_owned();
    for n in 1..40 {
        maps.push_str(&format!("m{n}: &m{n} {{a: *m{}, b: *m{}}}\n", n - 1, n - 1));
    }
    cases.limit("yaml: a billion laughs of mappings", asdf(&maps, &[]));
    let mut merged = "m0: &m0 {k0: x}\n".to_owned();
    for n in 1..200 {
        merged.push_str(&format!("m{n}: &m{n} {{<<: [*m{}, *m{}], k{n}: y}}\n", n - 1, n - 1));
    }
    cases.fine("yaml: merge keys in merge keys", asdf(&merged, &[]));
    cases.fine("yaml: a list in itself", asdf("a: &a [*a, *a]", &[]));
    cases.fine("yaml: a mapping in itself", asdf("a: &a {b: *a}", &[]));
    cases.add("yaml: a mapping merged into itself", asdf("a: &a {<<: *a, b: 1}", &[]), Expect::Fine);
    for (name, open) in [("lists", "["), ("mappings", "{a: "), ("mixed", "[{a: "), ("keys", "? ["), ("dashes", "- ")] {
        let deep = open.repeat(100_000);
        let text = if name == "dashes" { format!("a:\n  {deep}1") } else { format!("a: {deep}") };
        cases.add(format!("yaml: 100000 {name} deep"), asdf(&text, &[]), Expect::Either(Limit, Malformed));
    }
    let steps: String = (0..2000).map(|n| format!("{}k:\n", " ".repeat(n))).collect();
    cases.limit("yaml: 2000 levels by indentation", asdf(&steps, &[]));
    cases.fine("yaml: 250 deep, which is allowed", asdf(&format!("a: {}{}", "[".repeat(250), "]".repeat(250)), &[]));
    cases.malformed("yaml: a list that does not end", asdf("a: [1, 2", &[]));
    cases.malformed("yaml: a quote that does not end", asdf("a: 'x", &[]));
    cases.malformed("yaml: an unknown alias", asdf("a: *nobody", &[]));
    cases.malformed("yaml: an unknown handle", asdf("a: !nobody!x 1", &[]));
    cases.malformed("yaml: tabs for indentation", asdf("a:\n\tb: 1\n\tc: 2", &[]));
    cases.malformed("yaml: a broken escape", asdf("a: \"\\q\"", &[]));
    cases.malformed("yaml: %YAML twice", "#ASDF 1.0.0\n%YAML 1.1\n%YAML 1.1\n---\na: 1\n...\n");
    cases.malformed("yaml: %YAML 9.9", "#ASDF 1.0.0\n%YAML 9.9\n---\na: 1\n...\n");
    cases.malformed("yaml: a handle twice", "#ASDF 1.0.0\n%YAML 1.1\n%TAG !a! x:\n%TAG !a! y:\n---\na: 1\n...\n");
    cases.malformed("yaml: the tree does not end", HEAD.to_owned() + "a: 1\n");
    cases.fine("yaml: a tag that runs code elsewhere", asdf("a: !!python/object/apply:os.system ['rm -rf /']", &[]));
    cases.fine("yaml: a tag of a megabyte", asdf(&format!("a: !<tag:{}> 1", "x".repeat(1 << 20)), &[]));
    cases.fine(
        "yaml: a hundred thousand anchors",
        asdf(&(0..100_000).map(|n| format!("- &n{n} 1\n")).collect::<String>().replacen("- ", "a:\n- ", 1), &[]),
    );
    cases.fine("yaml: a number of a million digits", asdf(&format!("a: {}", "9".repeat(1_000_000)), &[]));
    cases.fine("yaml: floats beyond floats", asdf("a: [1e999999999, -1e999999999, 1e-999999999, 190:20:30.15]", &[]));
    cases.fine("yaml: the same key 50000 times", asdf(&"k: 1\n".repeat(50_000), &[]));
    cases.fine("yaml: binary that is none", asdf("a: !!binary '!!!'", &[]));
    cases.fine("yaml: a key of a list", asdf("? [a, b]\n: 1", &[]));
}

fn text(cases: &mut Cases) {
    cases.fine("text: a key of a megabyte", asdf(&format!("? {}\n: 1", "k".repeat(1 << 20)), &[]));
    cases.malformed("text: a plain key of a megabyte", asdf(&format!("{}: 1", "k".repeat(1 << 20)), &[]));
    cases.fine("text: a scalar of five megabytes", asdf(&format!("a: {}", "x".repeat(5 << 20)), &[]));
    cases.limit("text: a scalar of 65 MB", asdf(&format!("a: {}", "x".repeat(65 << 20)), &[]));
    for (name, bytes) in [
        ("a lone continuation", &b"\x80"[..]),
        ("an overlong slash", b"\xc0\xaf"),
        ("a surrogate", b"\xed\xa0\x80"),
        ("beyond Unicode", b"\xf4\x90\x80\x80"),
        ("a sequence cut short", b"\xe2\x82"),
        ("Latin-1", b"caf\xe9"),
    ] {
        let bytes = [HEAD.as_bytes(), b"a: ", bytes, b"\n...\n"].concat();
        cases.malformed(format!("text: not UTF-8, {name}"), bytes);
    }
    for (name, raw) in [("escape", '\x1b'), ("bell", '\x07'), ("NUL", '\0'), ("delete", '\x7f'), ("backspace", '\x08')] {
        cases.malformed(format!("text: {name} as it is"), asdf(&format!("a: x{raw}[31mred"), &[]));
    }
    cases.fine("text: escapes in quotes", asdf("\"k\\e[31m\\a\\0\": \"\\e]0;title\\a\\x9b2J\\u202e\"", &[]));
    cases.fine("text: marks of direction", asdf("a\u{202e}b: \u{2066}x\u{2069}", &[]));
    cases.fine("text: a byte order mark", asdf("a: 1", &[]));
    let wide: Vec<u8> = "#ASDF 1.0.0\na: 1\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    cases.add("text: UTF-16", wide, Expect::Fails(trilith::ErrorKind::Unsupported));
}

fn references(cases: &mut Cases) {
    let nowhere = Expect::Fails(Malformed);
    let reference = |to: &str| asdf(&format!("a: {{$ref: {to:?}}}"), &[]);
    cases.malformed("ref: to itself", reference("#/a"));
    cases.malformed("ref: in a circle", asdf("a: {$ref: '#/b'}\nb: {$ref: '#/c'}\nc: {$ref: '#/a'}", &[]));
    cases.add("ref: nowhere", reference("#/nobody"), nowhere);
    cases.add("ref: no pointer", reference("#x~9"), nowhere);
    let case = cases.add("ref: in a circle of files", reference("other.asdf#/a"), Expect::Either(Malformed, Limit));
    case.beside.push(("other.asdf".to_owned(), asdf("a: {$ref: 'x.asdf#/a'}", &[])));
    let case = cases.limit("ref: through a chain of 50 files", reference("f0.asdf#/a"));
    for n in 0..50 {
        case.beside.push((format!("f{n}.asdf"), asdf(&format!("a: {{$ref: 'f{}.asdf#/a'}}", n + 1), &[])));
    }
    let case = cases.malformed("ref: to a file that is none", reference("other.asdf#/a"));
    case.beside.push(("other.asdf".to_owned(), b"hello".to_vec()));
    let case = cases.add("ref: to a broken file", reference("other.asdf#/a"), nowhere);
    case.beside.push(("other.asdf".to_owned(), HEAD.as_bytes().to_vec()));
    // Each level names the one above it twice: two to the hundredth nodes.
    let mut tree = "r0: [x, x]\n".to_owned();
    for n in 1..100 {
        tree.push_str(&format!("r{n}: [{{$ref: '#/r{0}'}}, {{$ref: '#/r{0}'}}]\n", n - 1));
    }
    cases.limit("ref: a billion laughs of references", asdf(&tree, &[])).limits = Some("nodes=1000000,expansion=50000");
}

fn sandbox(cases: &mut Cases) {
    let out = [
        "../secret.asdf",
        "deep/../../secret.asdf",
        "/etc/passwd",
        "//etc/passwd",
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "http://127.0.0.1:1/x",
        "https://example.org/x",
        "ftp://example.org/x",
        "data:text/plain,x",
        "%2e%2e/secret.asdf",
        "%2E%2E%2Fsecret.asdf",
        "..%2fsecret.asdf",
        "a%00b",
        "%zz",
        "deep",
        ".",
        "./",
        "c:\\\\secret",
        "link.asdf",
        "linked/secret.asdf",
    ];
    for uri in out {
        for (what, tree) in [
            ("source", format!("a: !core/ndarray-1.1.0 {{source: {uri:?}, datatype: uint8, byteorder: big, shape: [1]}}")),
            ("ref", format!("a: {{$ref: {:?}}}", format!("{uri}#/a"))),
        ] {
            let tree = tree.replace("\\\\\\\\", "\\\\");
            let case = cases.limit(format!("sandbox: {what} {}", uri.escape_debug()), asdf(&tree, &[]));
            case.beside.push(("deep/inside.asdf".to_owned(), asdf("a: 1", &[])));
            case.beside.push(("../secret.asdf".to_owned(), asdf("a: secret", &[Block::of(b"s")])));
            case.links.push(("link.asdf".to_owned(), "../secret.asdf".to_owned()));
            case.links.push(("linked".to_owned(), "..".to_owned()));
        }
    }
    // Absolute names and steps up that stay inside are opened, and nothing else.
    for uri in ["deep/../x.asdf", "nowhere/../deep/inside.asdf", "./deep/./inside.asdf", "deep/%2e%2e/deep/inside.asdf"] {
        let case =
            cases.fine(format!("sandbox: {uri} stays inside"), asdf(&format!("a: {{$ref: {:?}}}", format!("{uri}#/b")), &[]));
        case.bytes = asdf(&format!("a: {{$ref: {:?}}}\nb: 1", format!("{uri}#/b")), &[]);
        case.beside.push(("deep/inside.asdf".to_owned(), asdf("b: 1", &[])));
    }
    for uri in [
        "deep/../../secret.asdf",
        "nowhere/../../secret.asdf",
        "linked/../../secret.asdf",
        "deep/%2e%2e/%2e%2e/secret.asdf",
        "file:///../etc/passwd",
        "file:/etc/passwd",
        "file://localhost/etc/passwd",
        "file://host/etc/passwd",
        "file:///%2e%2e/etc/passwd",
        "file:secret.asdf",
        "file:",
        "../../../../../../../../../../etc/passwd",
    ] {
        let case =
            cases.limit(format!("sandbox: {uri} leads out"), asdf(&format!("a: {{$ref: {:?}}}", format!("{uri}#/a")), &[]));
        case.beside.push(("deep/inside.asdf".to_owned(), asdf("a: 1", &[])));
        case.beside.push(("../secret.asdf".to_owned(), asdf("a: secret", &[Block::of(b"s")])));
        case.links.push(("linked".to_owned(), "..".to_owned()));
    }
    // The step too many of early files is dropped; the file above is never reached.
    let old = "%ASDF 0.1.0\n%YAML 1.1\n--- {a: {$ref: '../../secret.asdf#/a'}}\n...\n";
    let case = cases.limit("sandbox: two steps up in an early file", old);
    case.beside.push(("../secret.asdf".to_owned(), asdf("a: secret", &[])));
    for (what, name) in [("a device", "/dev/zero"), ("a terminal", "/dev/tty")] {
        let case = cases.limit(format!("sandbox: {what} behind a link"), asdf("a: {$ref: 'link.asdf#/a'}", &[]));
        case.links.push(("link.asdf".to_owned(), name.to_owned()));
    }
    cases.add("sandbox: a file that is not there", asdf("a: {$ref: 'nobody.asdf#/a'}", &[]), Expect::Fails(Io));
    let case = cases.add("sandbox: a link in a circle", asdf("a: {$ref: 'link.asdf#/a'}", &[]), Expect::Either(Io, Limit));
    case.links.push(("link.asdf".to_owned(), "link.asdf".to_owned()));
    let case = cases.fine("sandbox: a link that stays inside", asdf("a: {$ref: 'link.asdf#/a'}", &[]));
    case.links.push(("link.asdf".to_owned(), "deep/inside.asdf".to_owned()));
    case.beside.push(("deep/inside.asdf".to_owned(), asdf("a: 1", &[])));
}

fn schemas(cases: &mut Cases) {
    let mut schema = |name: &str, text: String, expect: Expect| {
        let case = cases.add(format!("schema: {name}"), text, expect);
        case.role = Role::Schema;
        case.beside.push(("tree.asdf".to_owned(), asdf(&format!("a: {}\nb: [{}]", "a".repeat(40), "{c: 1}, ".repeat(50)), &[])));
    };
    schema("a reference to itself", "$ref: '#'".to_owned(), Expect::Ends);
    schema(
        "references in a circle",
        "definitions: {a: {$ref: '#/definitions/b'}, b: {$ref: '#/definitions/a'}}\n$ref: '#/definitions/a'".to_owned(),
        Expect::Ends,
    );
    schema("all of itself", "allOf: [{$ref: '#'}, {$ref: '#'}]".to_owned(), Expect::Ends);
    schema(
        "a recursive schema, which is allowed",
        "properties: {a: {$ref: '#'}}\nadditionalProperties: {$ref: '#'}".to_owned(),
        Expect::Fine,
    );
    schema("a slow pattern", "properties: {a: {pattern: '^(a+)+$'}}".to_owned(), Expect::Fine);
    schema(
        "a pattern of a thousand million states",
        "properties: {a: {pattern: '((a{1,1000}){1,1000}){1,1000}'}}".to_owned(),
        Expect::Either(Limit, Malformed),
    );
    schema("a broken pattern", "properties: {a: {pattern: '(('}}".to_owned(), Expect::Fails(Malformed));
    schema("a reference to a file", "$ref: 'file:///etc/passwd'".to_owned(), Expect::Either(Limit, Malformed));
    schema("a reference to the network", "$ref: 'http://127.0.0.1:1/x'".to_owned(), Expect::Either(Limit, Malformed));
    schema("10000 deep", format!("{}{}", "{not: ".repeat(10_000), "}".repeat(10_000)), Expect::Either(Limit, Malformed));
    let mut doubled = "definitions:\n  d0: {type: object}\n".to_owned();
    for n in 1..60 {
        doubled
            .push_str(&format!("  d{n}: {{allOf: [{{$ref: '#/definitions/d{0}'}}, {{$ref: '#/definitions/d{0}'}}]}}\n", n - 1));
    }
    schema("two to the sixtieth checks", doubled + "$ref: '#/definitions/d59'", Expect::Either(Limit, Malformed));
    schema(
        "an enum of 50000",
        format!("properties: {{a: {{enum: [{}]}}}}", (0..50_000).map(|n| format!("{n}, ")).collect::<String>()),
        Expect::Fine,
    );
}
