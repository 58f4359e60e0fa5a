//! Dimensions of netCDF without an end. All variables along one have its length, which is that of the longest; elements of the others
//! that were never written have the fill value (`nc_inq_dimlen` and `nc_get_vara` of the netCDF library).

use super::attributes::{self, Attribute};
use super::dataset::Dataset;
use super::datatype::Dataspace;
use super::linked_file::LinkedFile;
use super::object_header::{ObjectHeader, kind};
use crate::error::Result;

impl LinkedFile {
    /// Lengthens the axes of a variable to the dimensions without an end that they are; `scales` are the addresses of these
    /// dimensions. Returns the variable as it is stored, if chunks that were never written do not stand for everything that is missing.
    pub(super) fn extend_to_dimensions(
        &self,
        scales: &[Option<u64>],
        attributes: &[Attribute],
        dataset: &mut Dataset,
    ) -> Result<Option<Dataset>> {
        let mut shape = dataset.dataspace.shape.clone().unwrap_or_default();
        for ((length, most), scale) in shape.iter_mut().zip(&dataset.dataspace.max_dims).zip(scales) {
            if let Some(scale) = scale.filter(|_| *most == u64::MAX) {
                *length = (*length).max(self.dimension_length(scale)?);
            }
        }
        if dataset.dataspace.shape.as_ref().is_none_or(|own| *own == shape) {
            return Ok(None);
        }
        let fill = attributes.iter().find(|attribute| attribute.name == "_FillValue");
        Ok(dataset.extend_shape(shape, fill.and_then(|fill| fill.element_of(&dataset.datatype))))
    }

    /// Lengthens the dimensions without an end that are further axes of a coordinate variable. Such a variable is not a user in the list
    /// of a scale, because it is a scale itself. Returns `true` if a dimension was shorter.
    pub(super) fn lengthen_dimensions(&self, scales: &[Option<u64>], dataset: &Dataset) -> Result<bool> {
        let mut was_shorter = false;
        let axes = dataset.dataspace.shape.iter().flatten().zip(&dataset.dataspace.max_dims).zip(scales);
        for ((length, most), scale) in axes.skip(1) {
            if let Some(scale) = scale.filter(|_| *most == u64::MAX)
                && *length > self.dimension_length(scale)?
            {
                self.lengths.borrow_mut().insert(scale, *length);
                was_shorter = true;
            }
        }
        Ok(was_shorter)
    }

    /// Returns the length of a dimension without an end, by the address of its scale.
    fn dimension_length(&self, scale: u64) -> Result<u64> {
        if let Some(known) = self.lengths.borrow().get(&scale) {
            return Ok(*known);
        }
        // Parts that cannot be read are reported where they are items.
        let mut longest = 0;
        if let Ok(header) = ObjectHeader::read_object_header(&self.file, scale) {
            longest = self.read_shape(&header).and_then(|shape| shape.first().copied()).unwrap_or(0);
            let all = attributes::read_all(&self.file, &header).0;
            let list = all.iter().find(|attribute| attribute.name == "REFERENCE_LIST");
            let along = list.map_or_else(Vec::new, |list| list.parse_reference_list(&self.file));
            self.file.prefetch(along.iter().map(|(variable, _)| *variable))?;
            for (variable, axis) in along {
                let shape =
                    ObjectHeader::read_object_header(&self.file, variable).ok().and_then(|header| self.read_shape(&header));
                let length = shape.and_then(|shape| shape.get(usize::try_from(axis).ok()?).copied());
                longest = longest.max(length.unwrap_or(0));
            }
        }
        // Dimensions of a layout are at most `i64::MAX`.
        longest = longest.min(i64::MAX.unsigned_abs());
        self.lengths.borrow_mut().insert(scale, longest);
        Ok(longest)
    }

    fn read_shape(&self, header: &ObjectHeader) -> Option<Vec<u64>> {
        let space = header.find_message(kind::MSG_DATASPACE)?;
        Dataspace::read_dataspace_message(&self.file, &space.data, space.address).ok()?.shape
    }
}
