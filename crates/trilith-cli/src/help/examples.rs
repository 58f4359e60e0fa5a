//! The examples below each `--help`. A test runs every line in the folder that `trilith tour` makes.

/// Command lines, in the order in which they can be run, and what each is for.
#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str)] = &[
    ("trilith info observation.asdf", "Version, size, tree and blocks"),
    ("trilith info observation.asdf#/observation/data", "One item: its datatype, shape and size"),
    ("trilith info observation.fits --json", "The same of any format, for a script"),
    ("trilith tree observation.asdf", "All names; each array with datatype, shape and codec"),
    ("trilith tree observation.asdf#/observation/meta --tags", "A part of the tree, with its tags"),
    ("trilith tree observation.bd --depth 2", "Two levels"),
    ("trilith blocks observation.asdf", "Where each block is, its codec and its size"),
    ("trilith blocks observation.bd", "Where each item of a Dudley file is"),
    ("trilith blocks observation.asdf --json", "As JSON"),
    ("trilith digest observation.asdf", "One line for each array"),
    ("trilith digest observation-plain.asdf", "The same digests: the data are equal"),
    ("trilith digest observation.fits --json", "As JSON"),
    ("trilith verify observation.asdf", "Structure and checksums"),
    ("trilith verify --deep observation.asdf observation.bd", "Decode every block as well"),
    ("trilith verify --conform asdf-1.x observation-plain.asdf", "Check the file against a document"),
    ("trilith validate observation.asdf", "Against the schemas of its tags"),
    ("trilith validate --json observation.asdf observation-plain.asdf", "Several files, as JSON"),
    ("trilith validate --schema my-schema.yaml observation.asdf", "Against a schema of your own as well"),
    ("trilith describe observation.asdf#/observation/data", "What its schema says about a node"),
    ("trilith describe observation.asdf#/observation/meta/exposure", "A quantity"),
    ("trilith describe observation.asdf#/history --json", "As JSON"),
    ("trilith search --key filter observation*.asdf", "Every item whose name holds \"filter\""),
    ("trilith search --key value --value '>100' observation*.asdf", "Compare numbers"),
    ("trilith search --datatype float32 --shape '256,*' observation.asdf", "Arrays of one datatype and shape"),
    ("trilith diff observation.asdf observation-plain.asdf", "Equal, however they are stored"),
    ("trilith diff observation.asdf observation-plain.asdf --ignore /history", "Without a path and all below it"),
    ("trilith diff observation.asdf observation.asdf --rtol 1e-6 --json", "Numbers within a tolerance"),
    ("trilith stats observation.asdf", "A line for each array"),
    ("trilith stats observation.asdf#/observation/data --bins 40", "One array, with its histogram"),
    ("trilith stats observation.asdf#/observation/data --percentiles 50,99.9 --json", "As JSON"),
    ("trilith show observation.asdf#/observation/data", "In the terminal"),
    ("trilith show observation.asdf#/observation/data --stretch asinh --cmap viridis -o data.png", "As PNG"),
    ("trilith show observation.asdf#/observation/catalogue -o catalogue.svg", "The columns of a table"),
    ("trilith refs linked.asdf", "What the file refers to, and whether it is there"),
    ("trilith refs linked.asdf --json", "As JSON"),
    ("trilith refs observation.asdf", "A file without references"),
    ("trilith schema check my-schema.yaml", "Is a schema itself valid?"),
    ("trilith schema check schemas/", "All schemas of a folder"),
    ("trilith schema check schemas/ --json", "As JSON"),

    ("trilith get observation.asdf#/observation/meta/filter", "One value"),
    ("trilith get observation.asdf#/observation/data --slice 0:10,5 -o x.npy", "A slice, as a numpy file"),
    ("trilith get observation.asdf#/observation/catalogue --field flux -o flux.csv", "One column, as CSV"),
    ("trilith table observation*.asdf -c filter=/observation/meta/filter -c shape=/observation/data@shape", "A row for each file"),
    ("trilith table observation*.asdf -c max=/observation/data@max --where 'max > 0' --sort max:desc -o max.csv", "Some, sorted, as CSV"),
    ("trilith table observation.asdf --each /history/entries -c text=/description -o steps.jsonl", "A row for each item of a list"),
    ("trilith to-yaml observation.asdf", "The tree alone, as YAML"),
    ("trilith to-yaml observation.asdf --json", "Header and tree, as JSON"),
    ("trilith to-yaml linked.asdf --resolve", "With references replaced by what they refer to"),

    ("trilith update observation.asdf --from tree.yaml", "Replace the whole tree by a text"),
    ("trilith to-yaml observation.asdf | trilith update observation.asdf --from -", "Through a pipe"),
    ("trilith update observation.asdf", "Rewrite the file, with room for its tree to grow"),
    ("trilith set observation.asdf#/observation/meta/filter F106", "Change a value"),
    ("trilith set observation.asdf#/observation/data --from new.npy --in-place", "Replace an array"),
    ("trilith set observation.asdf#/observation/meta/note '[1, 2]' -o noted.asdf", "Into another file"),
    ("trilith insert observation.asdf#/observation/meta/observer Herschel", "Add a key"),
    ("trilith insert observation.asdf#/history/entries/- '{description: flagged}'", "Add to the end of a list"),
    ("trilith insert observation.asdf#/observation/flat --from new.npy --codec lz4", "Add an array"),
    ("trilith insert observation.asdf#/observation/meta/wcsinfo '{ctype1: RA---TAN, ctype2: DEC--TAN, crpix1: 32.5, crpix2: 32.5, crval1: 83.8, crval2: -5.4, cdelt1: -3.0e-5, cdelt2: 3.0e-5}' -o placed.asdf", "Coordinates, as keywords of FITS"),
    ("trilith sky placed.asdf", "Frames, centre, scale and footprint of the first image with coordinates"),
    ("trilith sky placed.asdf#/observation/data 0,0 10.5,20", "The positions of two pixels, in degrees"),
    ("trilith sky placed.asdf --pixel 05:35:12,-05:24:00 --json", "The pixel of a position"),
    ("trilith get placed.asdf#/observation/data --sky 05:35:12,-05:24:00 --size 1arcsec -o around.npy", "The pixels around a position"),
    ("trilith cutout placed.asdf --sky 05:35:12,-05:24:00 --size 1arcsec -o cutout.asdf", "All arrays around a position, with their coordinates"),
    ("trilith cutout placed.asdf --sky 05:35:12,-05:24:00 --size 21px -o '{stem}_{n}.fits'", "For DS9 and other programs that read FITS"),
    ("trilith cutout placed.asdf --sky 05:35:12,-05:24:00 --size 1arcsec --edge trim -o trimmed.npy", "The pixels of one image, up to its edge"),
    ("trilith rename observation.asdf#/observation/flat flatfield", "Another name for a key"),
    ("trilith rename observation.asdf#/observation/flatfield flat -o renamed.asdf", "Into another file"),
    ("trilith rename observation.asdf#/observation/meta/observer pi --in-place", "In the space of the old tree"),
    ("trilith delete observation.asdf#/observation/flatfield", "Remove an array and its block"),
    ("trilith delete observation.asdf#/observation/meta/pi --in-place", "Remove a value in place"),
    ("trilith delete observation.asdf#/observation/dq -o small.asdf", "Into another file"),
    ("EDITOR=true trilith edit observation.asdf", "Edit the tree in your editor"),
    ("EDITOR=true trilith edit observation.asdf --in-place", "Without writing the blocks again"),
    ("EDITOR=true trilith edit observation.asdf -o edited.asdf", "Into another file"),
    ("trilith get observation.asdf#/observation/err -o err.raw && trilith stream run.asdf#/err --dtype float16 --row-shape 256 < err.raw", "Rows as they come, into a new file"),
    ("head -c 1024 err.raw | trilith stream run.asdf#/err --dtype float16 --row-shape 256", "More rows, from a program"),
    ("trilith get observation.asdf#/observation/err --slice :2 -o more.npy && trilith append run.asdf#/err more.npy", "Add rows to a streamed array"),
    ("trilith append run.asdf#/err more.npy --json", "With a report as JSON"),
    ("trilith get runs/history.bd#/time --slice :1 -o time.npy && trilith append runs/history.bd#/time time.npy", "Add elements to a list of a Dudley file"),
    ("trilith stream run.asdf#/err --finalise --codec zstd < err.raw", "The last rows; then the file is like any other"),
    ("trilith history add observation.asdf 'flat field applied'", "Add an entry with the current time"),
    ("trilith history add observation.asdf 'checked' --in-place", "In place"),
    ("trilith history add observation.asdf 'copied' -o copy.asdf", "Into another file"),

    ("trilith convert observation.asdf small.asdf --codec zstd", "Compress every block"),
    ("trilith convert observation.asdf old.asdf --to asdf-1.0 --allow-loss", "Write an older version"),
    ("trilith convert observation.asdf copy.fits --allow-loss", "To FITS, by the name of the output"),
    ("trilith repack observation.asdf packed.asdf", "Without gaps and unused blocks"),
    ("trilith repack observation.asdf plain.asdf --codec none --align 4096", "Aligned for memory maps"),
    ("trilith repack observation.asdf packed.asdf --order size", "Small blocks first"),
    ("trilith repair damaged.asdf -o rescued.asdf", "Rescue what is left; exit status 1 where something is lost"),
    ("trilith repair damaged.asdf -o rescued.asdf --json", "What was lost, as JSON"),
    ("trilith repair - -o rescued.asdf < damaged.asdf", "From a pipe"),
    ("trilith manifest observation.asdf -o refs.json", "References for Kerchunk, fsspec and xarray"),
    ("trilith manifest observation*.asdf --skip -o refs.json", "Of several files, a group each"),
    ("trilith manifest observation.asdf --rows 20 -o refs.json", "Chunks of 20 rows"),
    ("trilith explode observation.asdf -o parts", "One file for each block, one for the tree"),
    ("trilith explode observation.asdf#/observation/err -o err", "Move out one array"),
    ("trilith explode observation.asdf -o parts --overwrite", "Replace the parts of an earlier run"),
    ("trilith implode parts/observation_exploded.asdf -o whole.asdf", "Join the parts again"),
    ("trilith implode parts/observation_exploded.asdf#/observation/err -o some.asdf", "Take in one array"),
    ("trilith implode parts/observation_exploded.asdf --overwrite", "Beside the parts"),
    ("trilith resolve linked.asdf alone.asdf", "A file without references to others"),
    ("trilith resolve linked.asdf - > alone.asdf", "To standard output"),
    ("trilith resolve linked.asdf alone.asdf --json", "With a report as JSON"),

    ("trilith layout check runs/restart.dud", "All errors and warnings, with their places"),
    ("trilith layout resolve runs/restart.dud --data runs/step0001.bd", "Where every item is in a file"),
    ("trilith layout new arrays -o arrays.dud --data arrays.bd --overwrite", "A Dudley file of numpy arrays"),
    ("trilith layout check runs/restart.dud --json", "As JSON"),
    ("trilith layout check - < runs/restart.dud", "From a pipe"),
    ("trilith layout resolve runs/restart.dud --params 4,3,2", "For given parameters"),
    ("trilith layout resolve runs/restart.dud --params 4,3,2 --json", "As JSON"),
    ("trilith layout print runs/restart.dud", "One item a line"),
    ("trilith layout print runs/restart.dud -o neat.dud", "Into a file"),
    ("trilith layout print runs/restart.dud --json", "As JSON"),
    ("trilith layout translate runs/restart.dud --to 2026", "To the other dialect"),
    ("trilith layout translate runs/restart.dud --to 2026 -o new.dud", "Into a file"),
    ("trilith layout translate runs/restart.dud --to 2026 --json", "With what would be lost"),
    ("trilith layout describe observation-plain.asdf -o observation.dud", "Read an ASDF file as Dudley"),
    ("trilith layout describe observation-plain.asdf", "To standard output"),
    ("trilith layout describe observation-plain.asdf --json", "As JSON"),
    ("trilith layout locate runs/restart.dud /te --catalog runs/catalog.bd", "One item in all files"),
    ("trilith layout locate runs/restart.dud /rho --catalog runs/catalog.bd --json", "As JSON"),
    ("trilith layout locate runs/restart.dud /spectrum --catalog runs/catalog.bd", "One that some files do not have"),
    ("trilith layout new arrays", "Print a layout of numpy arrays"),
    ("trilith layout new records.h", "A layout of C structs"),
    ("trilith layout write point.dud point.bd --param /N=3 --from /x=x3.npy", "A file under a layout"),
    ("trilith layout write point.dud point.bd --param /N=3 --from /x=x3.npy --bare --overwrite", "Without the layout in it"),
    ("trilith layout write point.dud point.bd --param /N=3 --from /x=x3.npy --json --overwrite", "With a report as JSON"),
    ("trilith layout catalog runs/restart.dud --check runs/catalog.bd", "Does the catalog agree with its files?"),
    ("trilith layout catalog runs/restart.dud runs/step*.bd -o runs/few.bd", "Write a catalog"),
    ("trilith layout catalog runs/restart.dud --check runs/catalog.bd --json", "As JSON"),

    ("trilith view observation.asdf", "One file, in the browser"),
    ("trilith view observation.asdf#/observation/data", "Begin with one array"),
    ("trilith view .", "All files of a folder"),

    ("trilith tour", "Write example files into trilith-tour/ and work on them"),
    ("trilith tour example", "Into another folder"),
    ("trilith tour example --overwrite", "Again"),
    ("trilith completions bash > trilith.bash", "Then: source trilith.bash"),
    ("trilith completions zsh > _trilith", "Into a folder of $fpath"),
    ("trilith completions fish > trilith.fish", "Into ~/.config/fish/completions"),
    ("trilith man get", "The page of one command"),
    ("trilith man --install man", "All pages, into man/man1"),
    ("trilith man layout check", "The page of a subcommand"),
];

/// At most this many are shown below one command.
const SHOWN: usize = 3;

/// The examples of a command, by what is typed to get there, under their heading; empty if there are none.
pub fn text(path: &str) -> String {
    let prefix = format!("trilith {path} ");
    let is_of = |line: &str| format!("{line} ").contains(&prefix);
    let shown: Vec<_> = EXAMPLES.iter().filter(|(line, _)| is_of(line)).take(SHOWN).collect();
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
        let command = <crate::Cli as clap::CommandFactory>::command();
        for sub in clap::Command::get_subcommands(&command).filter(|sub| !sub.is_hide_set()) {
            assert_eq!(
                text(sub.get_name()).lines().count(),
                1 + 2 * SHOWN,
                "trilith {} --help needs three examples",
                sub.get_name()
            );
        }
    }
}
