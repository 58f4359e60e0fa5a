//! The forms in which the files of a set have an item.

use super::file_set_source::index_ranges;
use super::selection::{FileSelection, ShapeMismatch};
use crate::error::{Error, Result, SuggestedSetting};
use crate::layout::{ArrayLocation, Layout, PrimitiveKind};

/// The form that the items of the files get together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum CombineMode {
    /// Items of one shape, stacked along a new axis.
    #[default]
    Stacked,
    /// Items of any lengths, stacked along a new axis.
    Ragged,
    /// Items joined along this axis, whose length may differ.
    Concatenated(usize),
}

impl CombineMode {
    /// The form of an item for a choice of files.
    pub(super) fn for_item(template: &Layout, item: &str, form: &FileSelection) -> Self {
        // A member of structs has the axes of its item before those that it names.
        let declared = if item.contains('.') { None } else { super::layout_values::declared(template, item) };
        let names = declared.map(|item| template.axis_names(item)).unwrap_or_default();
        let axis = names.iter().position(|name| name.as_ref().is_some_and(|name| form.along.contains(name)));
        match (axis, form.unequal) {
            (Some(axis), _) => Self::Concatenated(axis),
            (None, ShapeMismatch::Padded) => Self::Ragged,
            (None, ShapeMismatch::Refused | ShapeMismatch::PerFile) => Self::Stacked,
        }
    }
}

/// The forms in which files have an item.
#[derive(Default)]
pub(super) struct ShapeForms {
    mode: CombineMode,
    /// The files in which it has elements, and those in which it has none.
    shapes: ShapeGroup,
    empty_shapes: ShapeGroup,
    /// Indices of files that can be read together: the item is omitted, is empty, or has the form of the first one with elements.
    combined: Vec<usize>,
}

/// The form of an item in some files.
#[derive(Default)]
struct ShapeGroup {
    /// The first of them, and the item there.
    first: Option<(String, ArrayLocation)>,
    /// The reason why another file differs.
    unlike: Option<Error>,
}

impl ShapeForms {
    /// Creates an empty collection for this combine mode.
    pub(super) fn new(how: CombineMode) -> Self {
        Self { mode: how, ..Self::default() }
    }

    /// Takes the item of one more file.
    pub(super) fn add_file(&mut self, item: &str, row: usize, file: &str, found: Option<ArrayLocation>) {
        let Some(found) = found else {
            self.combined.push(row);
            return;
        };
        let is_empty = found.shape.contains(&0);
        let form = if is_empty { &mut self.empty_shapes } else { &mut self.shapes };
        let alike = match &form.first {
            Some((name, known)) => same_form(item, (name, known), (file, &found), self.mode),
            None => {
                form.first = Some((file.to_owned(), found));
                Ok(())
            }
        };
        if is_empty || alike.is_ok() {
            self.combined.push(row);
        }
        if let Err(error) = alike {
            form.unlike = form.unlike.take().or(Some(error));
        }
    }

    /// The common form of the item, and whether it has no elements.
    pub(super) fn common_form(self, item: &str) -> Result<(ArrayLocation, bool)> {
        let is_empty = self.shapes.first.is_none();
        let form = if is_empty { self.empty_shapes } else { self.shapes };
        match (form.first, form.unlike) {
            (Some(_), Some(error)) if is_empty => Err(error),
            (Some(_), Some(error)) => {
                let forms = match self.mode {
                    CombineMode::Concatenated(_) => "pad, each",
                    CombineMode::Stacked | CombineMode::Ragged => "pad, each, along=AXIS",
                };
                let alike = SuggestedSetting::Files(format!("{}, or {forms}", index_ranges(self.combined)));
                Err(error.setting("some are alike", alike))
            }
            (Some((_, found)), None) => Ok((found, is_empty)),
            (None, _) => Err(Error::invalid_input(format!("none of the chosen files has an item {item}")).at_path(item)),
        }
    }
}

/// Refuses files in which the item is not of the same form.
fn same_form(
    item: &str,
    (name, known): (&str, &ArrayLocation),
    (file, found): (&str, &ArrayLocation),
    how: CombineMode,
) -> Result<()> {
    let is_other = |found: &ArrayLocation| found.strides != found.contiguous_strides(&found.shape);
    let is_text = found
        .typed
        .primitive()
        .is_some_and(|primitive| matches!(primitive.kind(), PrimitiveKind::Ascii | PrimitiveKind::Unicode));
    let may_differ = |axis: usize| match how {
        CombineMode::Stacked => false,
        // The last length of text is that of each string.
        CombineMode::Ragged => !(is_text && axis + 1 == known.shape.len()),
        CombineMode::Concatenated(along) => axis == along,
    };
    let is_one_rank = known.shape.len() == found.shape.len();
    let mut axes = known.shape.iter().zip(&found.shape).enumerate();
    if !is_one_rank || axes.any(|(axis, (one, other))| one != other && !may_differ(axis)) {
        let mut message = format!("{item} has the shape {:?} in {name} and {:?} in {file}", known.shape, found.shape);
        if let CombineMode::Concatenated(along) = how {
            message += &format!(", which cannot be joined along axis {along}, because another axis differs too");
        }
        return Err(Error::invalid_input(message));
    }
    if known.shape != found.shape && (is_other(known) || is_other(found)) {
        let message = format!(
            "{item} has the shape {:?} in {name} and {:?} in {file}, and other bytes between its elements",
            known.shape, found.shape
        );
        return Err(Error::unsupported(message).hint("choose files in which it has one shape"));
    }
    if known.typed != found.typed || known.shape == found.shape && known.strides != found.strides {
        return Err(Error::invalid_input(format!("{item} is not stored alike in {name} and {file}")));
    }
    Ok(())
}
