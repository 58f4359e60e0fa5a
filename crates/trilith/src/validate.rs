//! Validating any open file: an ASDF tree against the schemas of its tags, a Dudley layout against its language.

mod layout;

use crate::asdf::{AsdfFile, annotations, deviation};
use crate::core::unit;
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::{Error, Result};
use crate::file::File;
use crate::schema::{ValidationReport, Validator};

impl File {
    /// Validates the file. For the ASDF family it checks the tree against the schemas of its tags, the tag of the root and the
    /// units. For a Dudley file it checks that the layout has no error and that all byte offsets can be found. With `strict`,
    /// warnings count as errors.
    ///
    /// ```
    /// use trilith::check::{SchemaSet, Validator};
    /// let file = trilith::OpenOptions::new().open_bytes(b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: 1}\n...\n".to_vec())?;
    /// let report = file.validate(&mut Validator::new(SchemaSet::bundled()), false)?;
    /// // The root has no tag.
    /// assert_eq!((report.is_valid(), report.warnings), (true, 1));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a family that has no rules, and for a schema
    /// of the caller ([`Validator::add_custom`]) if the file has no tree. Returns an error if the file cannot be read.
    pub fn validate(&self, validator: &mut Validator, strict: bool) -> Result<ValidationReport> {
        if self.as_asdf().is_none() && validator.has_custom() {
            return Err(Error::unsupported(format!(
                "a schema is for the tree of an ASDF or FITS file; this file is {}",
                self.format()
            ))
            .hint("trilith convert FILE OUT.asdf makes a file that the schema can check"));
        }
        let checked = match self.as_asdf() {
            Some(file) => Some(of_tree(file, validator)?),
            None => self.layout_report()?,
        };
        let mut report = checked.ok_or_else(|| {
            Error::unsupported(format!("there are no schemas for files of the family {}", self.family()))
                .hint("verify checks the bytes of any file")
        })?;
        if strict {
            report.make_strict();
        }
        Ok(report)
    }

    /// Returns the text that problems of [`File::validate`] refer to: the tree, or the layout.
    pub fn validated_text(&self) -> &str {
        if let Some(file) = self.as_asdf() {
            return file.tree().text();
        }
        if let Some(file) = self.as_dudley() {
            return file.layout().text();
        }
        ""
    }

    /// Returns the problems of the layout of a Dudley stream, or None for any other file.
    fn layout_report(&self) -> Result<Option<ValidationReport>> {
        if let Some(file) = self.as_dudley() {
            return layout::check_layout(file).map(Some);
        }
        Ok(None)
    }
}

fn of_tree(file: &AsdfFile, validator: &mut Validator) -> Result<ValidationReport> {
    let tree = file.tree();
    let mut report = validator.validate(tree, file.standard().as_deref())?;
    // The list of HDUs of a FITS file without an ASDF file has a tag that is in no file.
    if file.container().is_some_and(|container| container.hdu == 0) {
        report.remove_notes_at("/fits");
    }
    report.add_warnings(tree.warnings());
    if let Some(message) = deviation::root_deviations(file) {
        let span = tree.root().tag_span().unwrap_or_else(|| tree.root().span());
        let place = tree.line_column(span.start as usize);
        report.push(Diagnostic::new(Severity::Warning, message).at_path("").at_span(span).at_text(place));
    }
    if let Some(mapping) = file.annotations().filter(|_| validator.schemas().text(annotations::SCHEMA_URI).is_some()) {
        let found = validator.validate_node(tree, mapping, annotations::SCHEMA_URI)?;
        found.problems.into_iter().for_each(|problem| report.push(problem));
    }
    unit::check_units(tree, file.limits())?.into_iter().for_each(|found| report.push(found));
    Ok(report)
}
