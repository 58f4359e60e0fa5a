//! The Rust half of the Python package `trilith`: its public items, in Python's words.
//!
//! No format is known here. The library's results are passed on, and this crate only decides their form: mappings
//! like dictionaries, arrays like numpy's. The interpreter lock is released while the library may read, decode or
//! parse.

mod array;
mod array_origin;
mod asdf;
mod asdf_tagged;
mod bridge;
mod buffer;
mod convert;
mod detached;
mod dtype;
mod dudley_items;
mod edit;
mod errors;
mod file;
mod file_set;
mod hierarchy;
mod layout;
mod mapping;
mod nodes;
mod open_file;
mod parallel;
mod picture;
mod raw_blocks;
mod remote;
mod repr;
mod scalar;
mod search;
mod source;
mod table;
mod to_value;
mod wcs;
mod write;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command `trilith` with these words, its own name first, and returns its exit status.
#[pyfunction]
#[pyo3(name = "_command")]
fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| trilith_cli::run(words))
}

/// The native half of `trilith`; import `trilith` instead.
#[pymodule]
fn _trilith(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    trilith_io::threads::set_threads(trilith_io::threads::threads_from_env());
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("FormatError", py.get_type::<errors::FormatError>())?;
    module.add("LimitError", py.get_type::<errors::LimitError>())?;
    module.add_class::<file::File>()?;
    module.add_class::<file_set::FileSet>()?;
    module.add_class::<asdf::Asdf>()?;
    module.add_class::<bridge::AsdfBridge>()?;
    module.add_class::<mapping::MappingBase>()?;
    module.add_class::<mapping::Mapping>()?;
    module.add_class::<mapping::TableMapping>()?;
    module.add_class::<nodes::Sequence>()?;
    module.add_class::<array::Array>()?;
    module.add_class::<layout::Layout>()?;
    module.add_class::<picture::Picture>()?;
    module.add_class::<parallel::ParallelWriter>()?;
    module.add_class::<hierarchy::AxisNameCache>()?;
    module.add_class::<wcs::Wcs>()?;
    module.add_function(wrap_pyfunction!(file::open, module)?)?;
    module.add_function(wrap_pyfunction!(file::open_any, module)?)?;
    module.add_function(wrap_pyfunction!(convert::convert, module)?)?;
    module.add_function(wrap_pyfunction!(remote::merge_deprecated_of_caller, module)?)?;
    module.add_function(wrap_pyfunction!(parallel::create, module)?)?;
    module.add_function(wrap_pyfunction!(parallel::resume, module)?)?;
    module.add_function(wrap_pyfunction!(write::write, module)?)?;
    module.add_function(wrap_pyfunction!(raw_blocks::check_view, module)?)?;
    module.add_function(wrap_pyfunction!(raw_blocks::write_parts, module)?)?;
    module.add_function(wrap_pyfunction!(raw_blocks::toward, module)?)?;
    module.add_function(wrap_pyfunction!(raw_blocks::decodes, module)?)?;
    module.add_function(wrap_pyfunction!(asdf_tagged::load_yaml, module)?)?;
    module.add_function(wrap_pyfunction!(table::_table, module)?)?;
    module.add_function(wrap_pyfunction!(picture::show, module)?)?;
    module.add_function(wrap_pyfunction!(hierarchy::_hierarchy, module)?)?;
    module.add_function(wrap_pyfunction!(hierarchy::_conventions, module)?)?;
    module.add_function(wrap_pyfunction!(hierarchy::_natural, module)?)?;
    module.add_function(wrap_pyfunction!(hierarchy::_state, module)?)?;
    module.add_function(wrap_pyfunction!(hierarchy::_manifest, module)?)?;
    module.add_function(wrap_pyfunction!(hierarchy::_tiles, module)?)?;
    module.add_function(wrap_pyfunction!(hierarchy::_read_together, module)?)?;
    module.add_function(wrap_pyfunction!(wcs::_cutout, module)?)?;
    module.add_function(wrap_pyfunction!(wcs::_wcs_at, module)?)?;
    module.add_function(wrap_pyfunction!(wcs::_wcs_of_array, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    Ok(())
}
