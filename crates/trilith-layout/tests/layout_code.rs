//! Programs of `Layout::code`, compiled without warnings and run: they read files that the library wrote, write the
//! same bytes again, and their files are read by the library.
//!
//! Tier: first. A language whose compiler is missing is left out, with a line that says so.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "tests report, and use files and programs of their own")]

use std::fmt::Write as _;
use std::io::Cursor;
use std::path::Path;
use std::process::Command;

use trilith_array::Array;
use trilith_io::bytes::LocalOptions;
use trilith_layout::dudley::{DudleyFile, NewStream, datatype_of, stored_text};
use trilith_layout::layout::{Byteorder, CodeLanguage, CodeOutput, Layout, LayoutEntry};
use trilith_layout::{ErrorKind, Limits};

/// Example 1 of the document: a template.
const STATE: &str = "{\n  IMAX := i8    ## leading dimension of mesh arrays\n  JMAX := i8\n  NGROUP := i8\n  time = f8     ## (ns) simulation time\n}\n\
    r = f8[JMAX, IMAX]  ## (um) radial node coordinates\nz = f8[JMAX, IMAX]\nrho = f8[JMAX-, IMAX-]\nte = f8[JMAX-, IMAX-]\n\
    gb = f8[NGROUP+]  ## (eV) group boundaries (also no data if NGROUP zero)\nunu = f8[NGROUP, JMAX-, IMAX-]\n";

/// Example 2: records in one array of structs.
const RECORDS: &str = "{\n  NREC := i8\n  IMAX := i8\n  JMAX := i8\n  NGROUP := i8\n}\ngb = f8[NGROUP+]\n\"\" = {\n  time = f8\n\
      r = f8[IMAX, JMAX]\n  rho = f8[IMAX-, JMAX-]\n  unu = f8[NGROUP, IMAX-, JMAX-]\n}[NREC]\n";

/// Example 3: lists.
const LISTS: &str = "IMAX := i8\nJMAX := i8\nNGROUP := i8\ngb = f8[NGROUP+]\ntime = [f8]\nr = [f8[JMAX, IMAX]]\nrho = [f8[JMAX-, IMAX-]]\n\
    unu = [f8[NGROUP, JMAX-, IMAX-]]\ntime[1] r[1] rho[1] unu[1]\ntime[1] r[1] rho[1] unu[1]\ntime[1] r[1] rho[1] unu[1]\n";

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len() as u64) as usize]
    }
}

const NUMBERS: [&str; 13] = ["i1", "i2", "<i4", "i8", ">f4", "f8", "c8", "c16", ">i2", "<f8", "u4", ">u8", "u1"];
const LENGTHS: [&str; 7] = ["2", "3", "N", "M+", "K-", "FIXED", "N--"];

/// A layout with whatever a program can express, and values of its parameters.
fn random(seed: u64) -> (String, Vec<i64>) {
    let mut random = Random(seed);
    let mut text = String::from("{ N : i2  M : i8  K : i1  flag : i4  t = f4 }  ## (s) \"time\" * / ? ü\nFIXED : 3\n");
    let values = [random.below(4) as i64, 1 + random.below(3) as i64, random.below(6) as i64 - 1, random.below(2) as i64 - 1];
    let shape = |random: &mut Random| {
        let dims: Vec<&str> = (0..1 + random.below(2)).map(|_| random.pick(&LENGTHS)).collect();
        format!("[{}]", dims.join(", "))
    };
    let _ = writeln!(
        text,
        "pair {{ a = {}  b = {}{} %8  c = i1 }} %{}",
        random.pick(&NUMBERS),
        random.pick(&NUMBERS),
        shape(&mut random),
        random.pick(&["4", "8", "16"])
    );
    let _ = writeln!(text, "mesh {{\"\" = {}[N, M]}}", random.pick(&["f4", "i8", "pair"]));
    for k in 0..7 {
        let number = random.pick(&NUMBERS);
        let dims = shape(&mut random);
        let _ = match random.below(9) {
            0 => writeln!(text, "s{k} = {number} %{}", random.pick(&["1", "2", "16"])),
            1 => writeln!(text, "p{k} = pair{dims}"),
            2 => writeln!(text, "m{k} = mesh[2]"),
            3 => writeln!(text, "g{k}/ x = {number}{dims}  L : i2  y = b1[L+]  .."),
            4 => writeln!(text, "l{k} [ {number}{dims}, / q = i2  w = pair , [ f4, i1[K] ]*2 ]*2  l{k} [1]"),
            5 => writeln!(text, "\"for {k}\" = S1[2, M]"),
            6 => writeln!(text, "o{k} = f8[flag, 2, M]"),
            7 => writeln!(text, "n{k} = {{ p = pair[2]  q = {{ u = {number}{dims}  w = i1 }}[M]  v = i2 @64 }}[FIXED]"),
            _ => writeln!(text, "x{k} = {number}{dims}"),
        };
    }
    let extra = text.matches(" L : i2").count();
    (text, values.into_iter().chain(std::iter::repeat_n(2, extra)).collect())
}

/// Elements without a NaN: no byte is 0 or above 100, and all are different from their neighbours.
fn filled(entry: &LayoutEntry) -> trilith_layout::Result<Array> {
    let mut shape = entry.shape.clone();
    let (datatype, order) = datatype_of(&entry.resolved_type, &mut shape)?;
    let size = datatype.item_size() * shape.iter().product::<u64>();
    let is_bool = entry.datatype.ends_with("b1");
    let first = entry.address.unwrap_or(0);
    let bytes = (0..size).map(|k| if is_bool { (k % 2) as u8 } else { ((first + k) % 97) as u8 + 1 }).collect();
    Array::from_bytes(bytes, datatype, order, shape)
}

fn written(layout: &Layout, params: &[i64], order: Byteorder, output: CodeOutput<'_>) -> Vec<u8> {
    let mut new = NewStream::new(layout, params.to_vec());
    (new.order, new.embed) = (order, matches!(output, CodeOutput::Embedded(_)));
    new.has_signature = output != CodeOutput::Raw;
    let mut out = Cursor::new(Vec::new());
    new.write(&mut |entry| filled(entry), &mut out).unwrap();
    out.into_inner()
}

/// A program around the module that reads its first argument and writes its second.
fn main_of(language: &str) -> (&'static str, &'static str) {
    match language {
        "c" => (
            "main.c",
            "#include \"demo.h\"\nint main(int argc, char **argv)\n{\n  struct demo v;\n  const char *error = argc == 3 ? demo_read(argv[1], &v) : \"usage\";\n  if (!error) {\n    error = demo_write(argv[2], &v);\n    demo_free(&v);\n  }\n  if (error)\n    fprintf(stderr, \"%s\\n\", error);\n  return error != NULL;\n}\n",
        ),
        "fortran" => (
            "main.f90",
            "program main\n  use demo_layout, only: demo_data, demo_read, demo_write\n  implicit none\n  type(demo_data) :: v\n  character(len=80) :: error\n  character(len=200) :: a, b\n  call get_command_argument(1, a)\n  call get_command_argument(2, b)\n  call demo_read(trim(a), v, error)\n  if (error == '') call demo_write(trim(b), v, error)\n  if (error /= '') then\n    print *, error\n    stop 1\n  end if\nend program main\n",
        ),
        "python" => ("main.py", "import sys, demo\ndemo.write(sys.argv[2], demo.read(sys.argv[1]))\n"),
        _ => (
            "main.rs",
            "mod demo;\nfn main() -> std::io::Result<()> {\n    let a: Vec<String> = std::env::args().collect();\n    demo::Content::read(&a[1])?.write(&a[2])\n}\n",
        ),
    }
}

fn compiler_exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success())
}

fn is_there(language: &str) -> bool {
    let program = match language {
        "c" => "gcc",
        "fortran" => "gfortran",
        "python" => "python3",
        _ => "rustc",
    };
    let found = compiler_exists(program);
    if !found {
        println!("skipped {language}: there is no {program}");
    }
    found
}

fn done(mut command: Command, folder: &Path, what: &str) {
    let out = command.current_dir(folder).output().unwrap();
    assert!(
        out.status.success() && out.stderr.is_empty(),
        "{what}: {command:?}\n{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
}

/// Compiles the program of a language in a folder, and returns what runs it.
fn compiled(
    layout: &Layout,
    language: CodeLanguage,
    order: Byteorder,
    output: CodeOutput<'_>,
    folder: &Path,
    what: &str,
) -> Vec<String> {
    let code = layout.code_for(language, "demo", order, output).unwrap_or_else(|e| panic!("{what}: {e}"));
    std::fs::write(folder.join(format!("demo.{}", language.extension())), code).unwrap();
    let (main, source) = main_of(language.name());
    std::fs::write(folder.join(main), source).unwrap();
    let mut command = match language.name() {
        "c" => Command::new("gcc"),
        "fortran" => Command::new("gfortran"),
        "python" => return vec!["python3".into(), "-B".into(), "-W".into(), "error".into(), "main.py".into()],
        _ => Command::new("rustc"),
    };
    match language.name() {
        "c" => command.args(["-Wall", "-Wextra", "-Werror", "-std=c99", "-o", "c.out", main]),
        "fortran" => command.args(["-Wall", "-Werror", "-std=f2018", "-J", ".", "-o", "fortran.out", "demo.f90", main]),
        _ => command.args(["-D", "warnings", "--edition", "2021", "-o", "rust.out", main]),
    };
    done(command, folder, what);
    if language.name() == "c" && compiler_exists("g++") {
        // The header compiles in C++, too.
        let mut command = Command::new("g++");
        command.args(["-x", "c++", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-std=c++11", "-o", "c++.out", main]);
        done(command, folder, what);
        return vec!["./c++.out".to_owned()];
    }
    vec![format!("./{}.out", language.name())]
}

/// Reads and writes in all languages.
fn agrees(text: &str, params: &[i64], order: Byteorder, embed: bool) {
    let layout = Layout::read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let stored = stored_text(&layout);
    agrees_in(&layout, params, order, if embed { CodeOutput::Embedded(&stored) } else { CodeOutput::Separate });
}

/// Reads and writes files of one form in all languages.
fn agrees_in(layout: &Layout, params: &[i64], order: Byteorder, output: CodeOutput<'_>) {
    let expected = written(layout, params, order, output);
    let text = layout.text();
    for language in CodeLanguage::all().filter(|language| is_there(language.name())) {
        let what = format!("{}, {params:?}, {order:?}, {text}", language.name());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("in.bd"), &expected).unwrap();
        let words = compiled(layout, language, order, output, folder.path(), &what);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["in.bd", "out.bd"]);
        done(command, folder.path(), &what);
        let found = std::fs::read(folder.path().join("out.bd")).unwrap();
        let first = found.iter().zip(&expected).position(|(a, b)| a != b);
        assert!(
            found == expected,
            "{what}: {} bytes, expected {}; the first that differs is {first:?}",
            found.len(),
            expected.len()
        );
    }
}

#[test]
fn example_programs_match_library_bytes() {
    agrees(STATE, &[3, 4, 2], Byteorder::Little, true);
    agrees(STATE, &[3, 4, 0], Byteorder::Big, false);
    agrees(RECORDS, &[3, 3, 4, 2], Byteorder::Little, true);
    agrees(LISTS, &[3, 4, 2], Byteorder::Big, true);
}

#[test]
fn random_layout_programs_match_library_bytes() {
    for seed in trilith_sample::sample("random layouts", (0..10).collect(), 10) {
        let (text, params) = random(seed * 7919 + 11);
        let order = if seed % 2 == 0 { Byteorder::Little } else { Byteorder::Big };
        agrees(&text, &params, order, seed % 3 != 0);
    }
    agrees(
        "N = i4  g/ x: f8(N, 2) %32  l [ i2(3), / a: f4 , 0%0 ]  /  T {a: i1  b: i8}  y: T(N)  z: f8 @400\n",
        &[3],
        Byteorder::Little,
        true,
    );
}

#[test]
fn raw_programs_write_layout_bytes_alone() {
    let text = "{ N : u4  M : i8  t = f4 }\np = { w = f8  id = u8  k = i2 %1 }[N]\nx = f8[M, N] %1\n";
    for order in [Byteorder::Little, Byteorder::Big] {
        let layout = Layout::read(text.replace("u4", "i4").as_bytes()).unwrap();
        let expected = written(&layout, &[3, 2], order, CodeOutput::Raw);
        assert_eq!(expected.len(), 24 + 3 * 24 + 6 * 8);
        agrees_in(&layout, &[3, 2], order, CodeOutput::Raw);
    }
    let layout = Layout::read(b"N = u4  t: f4  x: f8(N)  c: c8\n").unwrap();
    agrees_in(&layout, &[2], Byteorder::Big, CodeOutput::Raw);
}

#[test]
fn c_program_output_is_read_by_library() {
    if !is_there("c") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::read(b"{ N : i8  time = f8 }\nrho = f8[N, 2]\nname = S1[4]\nz = c16\n").unwrap();
    let c = CodeLanguage::from_name("c").unwrap();
    let code = layout.code(c, "demo", Byteorder::Big, Some(&stored_text(&layout))).unwrap();
    std::fs::write(folder.path().join("demo.h"), code).unwrap();
    let main = "#include \"demo.h\"\nint main(void)\n{\n  double rho[] = {1, 2, 3, 4, 5, 6};\n  char name[] = {'a', 'b', 'c', 'd'};\n  struct demo v = {.N = 3, .time = 2.5, .rho = rho, .name = name, .z = 1};\n  const char *error = demo_write(\"out.bd\", &v);\n  if (error)\n    fprintf(stderr, \"%s\\n\", error);\n  return error != NULL;\n}\n";
    std::fs::write(folder.path().join("main.c"), main).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-Wall", "-Wextra", "-Werror", "-std=c99", "-o", "main", "main.c"]);
    done(gcc, folder.path(), "gcc");
    done(Command::new("./main"), folder.path(), "main");
    let source = trilith_io::bytes::open(folder.path().join("out.bd"), LocalOptions::default()).unwrap();
    let file = DudleyFile::open(source, None, &Limits::default()).unwrap();
    let rho = file.array_at("/rho").unwrap();
    assert_eq!(rho.load::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(file.array_at("/time").unwrap().load::<f64>().unwrap(), [2.5]);
    assert_eq!(rho.shape(), [3, 2]);
}

#[test]
fn unsupported_items_return_err_with_path() {
    for (text, language, what) in [
        ("x = f4  h = f2[3]", "c", "/h is f2"),
        ("x = c4", "rust", "/x is c4"),
        ("g/ n = f2[2]", "fortran", "/g/n is f2"),
        ("s { n : i2  x = f4[n] }  y = s[2]", "python", "/y holds structs with stored parameters"),
        ("N : i4  l [ f8 ]*N", "c", "/l is a list whose length is a stored parameter"),
        ("x: f8(3) -> gzip", "rust", "/x is compressed"),
    ] {
        let layout = Layout::read(text.as_bytes()).unwrap();
        let error = layout.code(CodeLanguage::from_name(language).unwrap(), "demo", Byteorder::Little, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}");
        assert!(error.to_string().contains(what), "{text}: {error}");
    }
}
