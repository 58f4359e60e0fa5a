//! The examples below each `--help`. A test runs every line in the folder that `trilith tour` makes.

/// Command lines, in the order in which they can be run, and what each is for.
#[rustfmt::skip]
pub(crate) const EXAMPLES: &[(&str, &str)] = &[
    ("trilith info observation.asdf", "Print version, size, tree and blocks"),
    ("trilith info 'observation.asdf#/observation/data'", "Print datatype, shape and size of one item"),
    ("trilith info observation.fits --json", "Print JSON, for any format"),
    ("trilith tree observation.asdf", "List all names, and each array with datatype, shape and codec"),
    ("trilith tree 'observation.asdf#/observation/meta' --tags", "List a part of the tree, with its tags"),
    ("trilith tree observation.bd --depth 2", "List two levels"),
    ("trilith header observation.fits", "Print the cards of each HDU"),
    ("trilith header 'observation.fits#/fits/0' --key NAXIS", "Print some cards of one HDU"),
    ("trilith header observation.asdf --json", "Print units and descriptions as JSON"),
    ("trilith blocks observation.asdf", "List byte offset, codec and size of each block"),
    ("trilith blocks observation.bd", "List the byte offset of each item of a Dudley file"),
    ("trilith blocks observation.asdf --json", "Print JSON"),
    ("trilith digest observation.asdf", "Print one line for each array"),
    ("trilith digest observation-plain.asdf", "Print the same digests, because the data are equal"),
    ("trilith digest observation.fits --json", "Print JSON"),
    ("trilith check observation.asdf", "Check bytes and tree"),
    ("trilith check --deep --spec asdf-1.x observation-plain.asdf", "Also decode every block and compare with a specification"),
    ("trilith check observation.fits --json", "Print JSON"),
    ("trilith verify observation.asdf", "Check structure and checksums"),
    ("trilith verify --deep observation.asdf observation.bd", "Decode every block as well"),
    ("trilith verify --conform asdf-1.x observation-plain.asdf", "Compare the file with a specification"),
    ("trilith validate observation.asdf", "Check the schemas of the tags"),
    ("trilith validate --json observation.asdf observation-plain.asdf", "Check several files, with JSON"),
    ("trilith validate --schema my-schema.yaml observation.asdf", "Check your own schema as well"),
    ("trilith describe 'observation.asdf#/observation/data'", "Show the schema of a node"),
    ("trilith describe 'observation.asdf#/observation/meta/exposure'", "Show the schema of a quantity"),
    ("trilith describe 'observation.asdf#/history' --json", "Print JSON"),
    ("trilith search --key filter observation*.asdf", "Find every item with \"filter\" in its name"),
    ("trilith search --key value --value '>100' observation*.asdf", "Compare numbers"),
    ("trilith search --datatype float32 --shape '256,*' observation.asdf", "Find arrays of one datatype and shape"),
    ("trilith diff observation.asdf observation-plain.asdf", "Compare two files that are stored differently"),
    ("trilith diff observation.asdf observation-plain.asdf --ignore /history", "Ignore a path and everything below it"),
    ("trilith diff observation.asdf observation.asdf --rtol 1e-6 --json", "Compare numbers with a tolerance"),
    ("trilith stats observation.asdf", "Print a line for each array"),
    ("trilith stats 'observation.asdf#/observation/data' --bins 40", "Print one array with its histogram"),
    ("trilith stats 'observation.asdf#/observation/data' --percentiles 50,99.9 --json", "Print JSON"),
    ("trilith show 'observation.asdf#/observation/data'", "Draw in the terminal"),
    ("trilith show 'observation.asdf#/observation/data' --stretch asinh --cmap viridis -o data.png", "Write a PNG file"),
    ("trilith show 'observation.asdf#/observation/catalogue' -o catalogue.svg", "Draw the columns of a table"),
    ("trilith refs linked.asdf", "List the references, and whether they resolve"),
    ("trilith refs linked.asdf --json", "Print JSON"),
    ("trilith refs observation.asdf", "List nothing, for a file without references"),
    ("trilith schema check my-schema.yaml", "Check one schema"),
    ("trilith schema check schemas/", "Check all schemas of a folder"),
    ("trilith schema check schemas/ --json", "Print JSON"),

    ("trilith get 'observation.asdf#/observation/meta/filter'", "Print one value"),
    ("trilith get 'observation.asdf#/observation/data' --slice 0:10,5 -o x.npy", "Save a slice as a NumPy file"),
    ("trilith get 'observation.asdf#/observation/catalogue' --field flux -o flux.csv", "Save one column as CSV"),
    ("trilith table 'observation.asdf#/observation/catalogue' -n 5", "Print the first rows of a table"),
    ("trilith table observation*.asdf -c f=/observation/meta/filter -c shape=/observation/data@shape", "Print a row for each file"),
    ("trilith table observation*.asdf -c m=/observation/data@max --where 'm > 0' --sort m -o max.csv", "Save selected rows in order, as CSV"),
    ("trilith table observation.asdf --each /history/entries -c text=/description -o steps.jsonl", "Save a row for each item of a list"),
    ("trilith to-yaml observation.asdf", "Print the tree as YAML"),
    ("trilith to-yaml observation.asdf --json", "Print header and tree as JSON"),
    ("trilith to-yaml linked.asdf --resolve", "Replace references by their targets"),

    ("trilith update observation.asdf --from tree.yaml", "Replace the whole tree by a text"),
    ("trilith to-yaml observation.asdf | trilith update observation.asdf --from -", "Replace the tree from a pipe"),
    ("trilith update observation.asdf", "Rewrite the file, with room for its tree to grow"),
    ("trilith set 'observation.asdf#/observation/meta/filter' F106", "Change a value"),
    ("trilith set 'observation.asdf#/observation/data' --from new.npy --in-place", "Replace an array"),
    ("trilith set 'observation.asdf#/observation/meta/note' '[1, 2]' -o noted.asdf", "Write to another file"),
    ("trilith insert 'observation.asdf#/observation/meta/observer' Herschel", "Add a key"),
    ("trilith insert 'observation.asdf#/history/entries/-' '{description: flagged}'", "Add to the end of a list"),
    ("trilith insert 'observation.asdf#/observation/flat' --from new.npy --codec lz4", "Add an array"),
    ("trilith insert 'observation.asdf#/observation/meta/wcsinfo' '{ctype1: RA---TAN, ctype2: DEC--TAN, crpix1: 32.5, crpix2: 32.5, crval1: 83.8, crval2: -5.4, cdelt1: -3.0e-5, cdelt2: 3.0e-5}' -o placed.asdf", "Add coordinates as FITS keywords"),
    ("trilith sky placed.asdf", "Print frames, centre, scale and footprint of the first image with coordinates"),
    ("trilith sky 'placed.asdf#/observation/data' 0,0 10.5,20", "Print the positions of two pixels, in degrees"),
    ("trilith sky placed.asdf --pixel 05:35:12,-05:24:00 --json", "Print the pixel of a position"),
    ("trilith get 'placed.asdf#/observation/data' --sky 05:35:12,-05:24:00 --size 1arcsec -o around.npy", "Save the pixels around a position"),
    ("trilith cutout placed.asdf --sky 05:35:12,-05:24:00 --size 1arcsec -o cutout.asdf", "Cut out all arrays around a position, with their coordinates"),
    ("trilith cutout placed.asdf --sky 05:35:12,-05:24:00 --size 21px -o '{stem}_star.fits'", "Cut out FITS files, for example for DS9"),
    ("trilith cutout placed.asdf --sky 05:35:12,-05:24:00 --size 1arcsec --edge trim -o trimmed.npy", "Cut out the pixels of one image, up to its edge"),
    ("trilith mv 'observation.asdf#/observation/flat' flatfield", "Rename a key"),
    ("trilith mv 'observation.asdf#/observation/flatfield' flat -o renamed.asdf", "Write to another file"),
    ("trilith mv 'observation.asdf#/observation/meta/observer' pi --in-place", "Rename in place"),
    ("trilith rm 'observation.asdf#/observation/flatfield'", "Remove an array and its block"),
    ("trilith rm 'observation.asdf#/observation/meta/pi' --in-place", "Remove a value in place"),
    ("trilith rm 'observation.asdf#/observation/dq' -o small.asdf", "Write to another file"),
    ("EDITOR=true trilith edit observation.asdf", "Edit the tree in your editor"),
    ("EDITOR=true trilith edit observation.asdf --in-place", "Edit in place"),
    ("EDITOR=true trilith edit observation.asdf -o edited.asdf", "Write to another file"),
    ("trilith get 'observation.asdf#/observation/err' -o err.raw", "Save the bytes of an array"),
    ("trilith stream 'run.asdf#/err' --dtype float16 --row-shape 256 < err.raw", "Write rows from standard input into a new file"),
    ("head -c 1024 err.raw | trilith stream 'run.asdf#/err' --dtype float16 --row-shape 256", "Add rows from a program"),
    ("trilith get 'observation.asdf#/observation/err' --slice :2 -o more.npy", "Save two rows as a NumPy file"),
    ("trilith append 'run.asdf#/err' more.npy", "Add the rows of a NumPy file to a streamed array"),
    ("trilith append 'run.asdf#/err' more.npy --json", "Print a report as JSON"),
    ("trilith get 'runs/history.bd#/time' --slice :1 -o time.npy", "Save one element of a Dudley file"),
    ("trilith append 'runs/history.bd#/time' time.npy", "Add the elements of a NumPy file to a list of a Dudley file"),
    ("trilith stream 'run.asdf#/err' --finalise --codec zstd < err.raw", "Add the last rows, and finish the file"),
    ("trilith history add observation.asdf 'flat field applied'", "Add an entry with the current time"),
    ("trilith history add observation.asdf 'checked' --in-place", "Add an entry in place"),
    ("trilith history add observation.asdf 'copied' -o copy.asdf", "Write to another file"),

    ("trilith convert observation.asdf compressed.asdf --codec zstd", "Compress every block"),
    ("trilith convert observation.asdf old.asdf --to asdf-1.0 --allow-loss", "Write an older version"),
    ("trilith convert observation.asdf copy.fits --allow-loss", "Write FITS, by the extension of the output"),
    ("trilith repack observation.asdf packed.asdf", "Remove gaps and unused blocks"),
    ("trilith repack observation.asdf plain.asdf --codec none --align 4096", "Align the blocks for memory maps"),
    ("trilith repack observation.asdf ordered.asdf --order size", "Put small blocks first"),
    ("trilith repair damaged.asdf -o rescued.asdf", "Recover a file; the exit status is 1 if something is lost"),
    ("trilith repair damaged.asdf -o rescued.asdf --json", "Print the losses as JSON"),
    ("trilith repair - -o rescued.asdf < damaged.asdf", "Read from a pipe"),
    ("trilith manifest observation.asdf -o refs.json", "Write references for Kerchunk, fsspec and xarray"),
    ("trilith manifest observation*.asdf --skip -o refs.json", "Write a group for each of several files"),
    ("trilith manifest observation.asdf --rows 20 -o refs.json", "Make chunks of 20 rows"),
    ("trilith explode observation.asdf -o parts", "Write one file for each block, and one for the tree"),
    ("trilith explode 'observation.asdf#/observation/err' -o err", "Move out one array"),
    ("trilith explode observation.asdf -o parts --overwrite", "Replace the files of an earlier run"),
    ("trilith implode parts/observation_exploded.asdf -o whole.asdf", "Join the parts again"),
    ("trilith implode 'parts/observation_exploded.asdf#/observation/err' -o some.asdf", "Take in one array"),
    ("trilith implode parts/observation_exploded.asdf --overwrite", "Write next to the parts"),
    ("trilith resolve linked.asdf alone.asdf", "Write a file without references to others"),
    ("trilith resolve linked.asdf - > alone.asdf", "Write to standard output"),
    ("trilith resolve linked.asdf resolved.asdf --json", "Print a report as JSON"),

    ("trilith layout check runs/restart.dud", "Print all errors and warnings, with their places"),
    ("trilith layout resolve runs/restart.dud --data runs/step0001.bd", "Print the byte offset of each item in a file"),
    ("trilith layout new arrays -o arrays.dud --data arrays.bd --overwrite", "Write a Dudley file of NumPy arrays"),
    ("trilith layout check runs/restart.dud --json", "Print JSON"),
    ("trilith layout check - < runs/restart.dud", "Read from a pipe"),
    ("trilith layout resolve runs/restart.dud --params 4,3,2", "Print the byte offsets for given parameters"),
    ("trilith layout resolve runs/restart.dud --params 4,3,2 --json", "Print JSON"),
    ("trilith layout print runs/restart.dud", "Print one item a line"),
    ("trilith layout print runs/restart.dud -o neat.dud", "Write to a file"),
    ("trilith layout print runs/restart.dud --json", "Print JSON"),
    ("trilith layout translate runs/restart.dud --to 2026", "Print the other dialect"),
    ("trilith layout translate runs/restart.dud --to 2026 -o new.dud", "Write to a file"),
    ("trilith layout translate runs/restart.dud --to 2026 --json", "Print the losses as JSON"),
    ("trilith layout describe observation-plain.asdf -o observation.dud", "Describe an ASDF file as a layout"),
    ("trilith layout describe observation-plain.asdf", "Write to standard output"),
    ("trilith layout describe observation-plain.asdf --json", "Print JSON"),
    ("trilith layout locate runs/restart.dud /te --catalog runs/catalog.bd", "Locate one item in all files"),
    ("trilith layout locate runs/restart.dud /rho --catalog runs/catalog.bd --json", "Print JSON"),
    ("trilith layout locate runs/restart.dud /spectrum --catalog runs/catalog.bd", "Locate an item that some files lack"),
    ("trilith layout new arrays", "Print a layout of NumPy arrays"),
    ("trilith layout new records.h", "Print a layout of C structs"),
    ("trilith layout from x3.npy", "Print the layout of a NumPy file"),
    ("trilith layout from x3.npy -o x3.dud", "Write to a file"),
    ("trilith layout from x3.npy --json", "Print JSON"),
    ("trilith layout code point.dud --lang c -o point.h", "Write a C header"),
    ("trilith layout code point.dud --lang python -o point.py", "Write a Python module"),
    ("trilith layout code point.dud --lang fortran --raw -o point.f90", "Write a Fortran module for files without a signature"),
    ("trilith layout write point.dud point.bd --param /N=3 --from /x=x3.npy", "Write a file with a layout"),
    ("trilith layout write point.dud point.bd --param /N=3 --from /x=x3.npy --bare --overwrite", "Leave the layout out of the file"),
    ("trilith layout write point.dud point.bd --param /N=3 --from /x=x3.npy --json --overwrite", "Print a report as JSON"),
    ("trilith layout catalog runs/restart.dud --check runs/catalog.bd", "Compare a catalog with its files"),
    ("trilith layout catalog runs/restart.dud runs/step*.bd -o runs/few.bd", "Write a catalog"),
    ("trilith layout catalog runs/restart.dud --check runs/catalog.bd --json", "Print JSON"),

    ("trilith view observation.asdf", "Open one file in the browser"),
    ("trilith view 'observation.asdf#/observation/data'", "Begin with one array"),
    ("trilith view .", "Open all files of a folder"),

    ("trilith tour", "Write example files into trilith-tour/ and work on them"),
    ("trilith tour example", "Write to another folder"),
    ("trilith tour example --overwrite", "Write the files again"),
    ("trilith completions bash > trilith.bash", "Write completions, then run: source trilith.bash"),
    ("trilith completions zsh > _trilith", "Write to a folder of $fpath"),
    ("trilith completions fish > trilith.fish", "Write to ~/.config/fish/completions"),
    ("trilith man get", "Show the page of one command"),
    ("trilith man --install man", "Write all pages to man/man1"),
    ("trilith man layout check", "Show the page of a subcommand"),
];

/// Largest number of examples below one command.
const MAX_SHOWN_EXAMPLES: usize = 3;

/// The examples of a command, by what is typed to get there, under their heading; empty if there are none.
pub(crate) fn examples_text(path: &str) -> String {
    let prefix = format!("trilith {path} ");
    let is_of = |line: &str| format!("{line} ").contains(&prefix);
    let shown: Vec<_> = EXAMPLES.iter().filter(|(line, _)| is_of(line)).take(MAX_SHOWN_EXAMPLES).collect();
    let mut text = if shown.is_empty() { String::new() } else { "Examples:".to_owned() };
    for (line, what) in shown {
        let line = line.strip_prefix("EDITOR=true ").unwrap_or(line);
        text.push_str(&format!("\n  {what}\n    {line}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_three_examples() {
        fn check(command: &clap::Command, path: &str) {
            for sub in clap::Command::get_subcommands(command).filter(|sub| !sub.is_hide_set()) {
                let path = format!("{path} {}", sub.get_name());
                let lines = examples_text(path.trim_start()).lines().count();
                assert_eq!(lines, 1 + 2 * MAX_SHOWN_EXAMPLES, "trilith{path} --help needs three examples");
                check(sub, &path);
            }
        }
        check(&crate::Cli::complete(), "");
    }
}
