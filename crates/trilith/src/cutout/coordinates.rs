//! The coordinates of a cutout: those of the image, moved by the first pixel.

use super::PixelCutout;
use super::gwcs_tags::without_anchors;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tree::{Edit, Node, Tree, TreePath, Value};

impl PixelCutout<'_> {
    /// Returns a copy of the coordinates, or of a mapping around them, with its path, if items that are not cut have them as well: by
    /// aliases. The cutout changes the copy.
    pub(super) fn shared_coordinates(&self, tree: &Tree, path: &TreePath, limits: &Limits) -> Result<Option<(TreePath, Value)>> {
        let is_shared = |node: Node<'_>| node.is_alias() || node.anchor().is_some();
        let image = TreePath::parse(&self.image.path)?;
        let (mut place, mut found) = (TreePath::root(), None);
        for key in path.keys() {
            place = place.join(key.as_str());
            // A mapping that holds the image is cut at all of its places.
            let is_around = image.keys().starts_with(place.keys());
            if !is_around && tree.find(&place).is_some_and(is_shared) {
                found = Some(place.clone());
                break;
            }
        }
        let parts = ["steps", "steps/0", "steps/0/transform", "attrs", "hdulist", "hdulist/0", "hdulist/0/header"];
        let is_part_shared = |part: &&str| {
            let place = part.split('/').fold(path.clone(), |place, key| place.join(key));
            tree.find(&place).is_some_and(is_shared)
        };
        let Some(place) = found.or_else(|| parts.iter().any(is_part_shared).then(|| path.clone())) else {
            return Ok(None);
        };
        tree.find(&place).map(|node| Ok((place.clone(), node.to_value(limits)?))).transpose()
    }

    /// Moves the coordinates: a step before the first one, or the reference pixel of keywords.
    pub(super) fn move_coordinates<'t>(
        &self,
        edit: &mut Edit<'t>,
        tree: &'t Tree,
        path: &TreePath,
        step: Option<&Value>,
    ) -> Result<()> {
        let Some(step) = step else { return self.move_keywords(edit, tree.find(path)) };
        let Some(node) = tree.find(path) else { return Ok(()) };
        if let Some(transform) = node.get("steps").and_then(|steps| steps.index(0)).and_then(|step| step.get("transform")) {
            edit.delete_key(transform, "bounding_box");
        }
        if node.get("pixel_shape").is_some() || node.tag().is_some_and(|tag| !tag.ends_with("gwcs/wcs-1.0.0")) {
            edit.set_key(node, "pixel_shape", &Value::seq(self.pixels.length.iter().copied()).flow())?;
        }
        edit.insert(&path.join("steps").join("0"), step)
    }

    /// The step from the pixels of the cutout to those of the image.
    pub(super) fn shift_step(&self, wcs: Node<'_>, limits: &Limits) -> Result<Value> {
        let wrong = || wcs.error("a GWCS without a first step");
        let first = wcs.get("steps").and_then(|steps| steps.index(0)).ok_or_else(wrong)?;
        let frame = first.get("frame").ok_or_else(wrong)?;
        let transform = first.get("transform").ok_or_else(wrong)?;
        let names: Vec<String> = wcs
            .get("steps")
            .into_iter()
            .flat_map(Node::items)
            .filter_map(|step| step.get("frame"))
            .map(|frame| frame.get("name").unwrap_or(frame).text().into_owned())
            .collect();
        let numbered = (2..=names.len() + 2).map(|number| format!("cutout_{number}"));
        let is_free = |name: &String| !names.contains(name);
        let name = std::iter::once("cutout".to_owned()).chain(numbered).find(is_free).ok_or_else(wrong)?;
        let new_frame = if frame.is_mapping() {
            let mut value = without_anchors(frame.to_value(limits)?);
            value.set("name", name.as_str());
            value
        } else {
            Value::from(name.as_str())
        };
        let tags = self.image.tags(wcs, limits)?;
        let axes: Vec<String> = (0..self.pixels.start.len()).map(|axis| format!("x{axis}")).collect();
        let shifts = self.pixels.start.iter().map(|start| {
            let offset = tags.pixel_value(Value::from(*start as f64));
            Value::map([("inputs", Value::seq(["x"]).flow()), ("outputs", Value::seq(["y"]).flow()), ("offset", offset)])
                .flow()
                .tagged(tags.transform_tag("shift"))
        });
        // A compound has two parts, so that those of more axes are nested.
        let nested = shifts.enumerate().reduce(|(_, first), (axis, next)| {
            let inputs = axes.iter().take(axis + 1);
            let outputs = Value::seq(inputs.clone().map(|name| name.replace('x', "y"))).flow();
            let both = Value::map([
                ("inputs", Value::seq(inputs.map(String::as_str)).flow()),
                ("outputs", outputs),
                ("forward", Value::seq([first, next])),
            ]);
            (axis, both.tagged(tags.transform_tag("concatenate")))
        });
        let (_, mut shift) = nested.ok_or_else(wrong)?;
        let interval = |length: &u64| {
            let ends = [-0.5, *length as f64 - 0.5].map(|end| tags.pixel_value(Value::from(end)));
            Value::seq(ends).flow()
        };
        let old = transform.get("bounding_box");
        let bounds = match old.filter(|old| old.is_mapping()).and_then(Node::tag) {
            Some(tag) if tag.contains("bounding_box") => {
                let tag = tag.replace("compound_bounding_box", "bounding_box");
                let intervals = Value::map(axes.iter().map(String::as_str).zip(self.pixels.length.iter().map(interval)));
                Value::map([("intervals", intervals), ("ignore", Value::seq::<&str>([]).flow()), ("order", Value::from("F"))])
                    .tagged(tag)
            }
            // The older form: pairs in the order of the array.
            _ => Value::seq(self.pixels.length.iter().rev().map(interval)),
        };
        if old.is_some() {
            shift.set("bounding_box", bounds);
        }
        let step = Value::map([("frame", new_frame), ("transform", shift)]);
        Ok(match first.tag() {
            Some(tag) => step.tagged(tag),
            None => step,
        })
    }

    /// Moves the reference pixel of a list of cards.
    fn move_cards(&self, edit: &mut Edit<'_>, path: &TreePath, header: Node<'_>) -> Result<()> {
        let keywords: Vec<_> = header.items().filter_map(|card| Some(card.index(0)?.text())).collect();
        for (number, card) in header.items().enumerate() {
            let (Some(keyword), Some(value)) = (card.index(0), card.index(1)) else { continue };
            let keyword = keyword.text();
            let axis = keyword.strip_prefix("NAXIS").and_then(|rest| rest.parse::<usize>().ok()?.checked_sub(1));
            if let Some(length) = axis.and_then(|axis| self.pixels.length.get(axis)) {
                edit.set(&path.join(number.to_string()).join("1"), &Value::from(*length))?;
                continue;
            }
            let Some(start) = self.keyword_shift(&keyword) else { continue };
            // A string is no number, so that the number is zero, as in wcslib.
            let moved = value.as_f64().unwrap_or(0.0) - start;
            edit.set(&path.join(number.to_string()).join("1"), &Value::from(moved))?;
        }
        for (keyword, value) in self.missing_shifts(&keywords.iter().map(|keyword| &**keyword).collect::<Vec<_>>()) {
            edit.append(path, &Value::seq([Value::from(keyword), Value::from(value)]).flow())?;
        }
        Ok(())
    }

    /// The keywords that the header of the image leaves out because their values are zero, with those of the cutout: CRPIXja of each
    /// description of coordinates, and LTVi if the header has LTMi_i or LTV of another axis.
    pub(super) fn missing_shifts(&self, keywords: &[&str]) -> Vec<(String, f64)> {
        let has = |keyword: &str| keywords.contains(&keyword);
        let mut descriptions: Vec<&str> = keywords.iter().copied().filter_map(description_key).collect();
        descriptions.sort_unstable();
        descriptions.dedup();
        let has_ltv = keywords.iter().any(|keyword| keyword.starts_with("LTM") || keyword.starts_with("LTV"));
        let mut missing = Vec::new();
        for (axis, start) in self.pixels.start.iter().enumerate().filter(|(_, start)| **start != 0) {
            let names = descriptions.iter().map(|key| format!("CRPIX{}{key}", axis + 1));
            let names = names.chain(has_ltv.then(|| format!("LTV{}", axis + 1)));
            missing.extend(names.filter(|name| !has(name)).map(|name| (name, -(*start as f64))));
        }
        missing
    }

    /// Moves the reference pixel of keywords.
    fn move_keywords(&self, edit: &mut Edit<'_>, node: Option<Node<'_>>) -> Result<()> {
        let wrong = || {
            let what = "they are none of a GWCS, a header, and an astropy.wcs.WCS that is not sliced";
            Error::unsupported(format!("cannot move the coordinates at {}: {what}", self.image.found.path))
        };
        let node = node.ok_or_else(wrong)?;
        let path = TreePath::parse(&self.image.found.path)?;
        if node.is_sequence() {
            return self.move_cards(edit, &path, node);
        }
        if !node.is_mapping() {
            return Err(wrong());
        }
        if let Some(header) = node.get("hdulist").and_then(|hdus| hdus.index(0)).and_then(|hdu| hdu.get("header")) {
            self.move_cards(edit, &path.join("hdulist").join("0").join("header"), header)?;
            if node.get("attrs").is_some_and(|attributes| attributes.get("pixel_shape").is_some()) {
                edit.set(&path.join("attrs").join("pixel_shape"), &Value::seq(self.pixels.length.iter().copied()).flow())?;
            }
            return Ok(());
        }
        let keys: Vec<_> = node.entries().map(|(key, _)| key.text()).collect();
        for (key, value) in node.entries() {
            let name = key.text();
            let capitals = name.to_ascii_uppercase();
            let number = capitals.strip_prefix("NAXIS").and_then(|rest| rest.parse::<usize>().ok()?.checked_sub(1));
            if let Some(length) = number.and_then(|axis| self.pixels.length.get(axis)) {
                edit.set(&path.join(&*name), &Value::from(*length))?;
            } else if let Some(start) = self.keyword_shift(&capitals) {
                edit.set(&path.join(&*name), &Value::from(value.as_f64().unwrap_or(0.0) - start))?;
            }
        }
        let capitals: Vec<String> = keys.iter().map(|key| key.to_ascii_uppercase()).collect();
        if !capitals.iter().any(|key| description_key(key).is_some()) {
            return Err(wrong());
        }
        let is_lower = keys.iter().any(|key| key.starts_with("ctype"));
        for (keyword, value) in self.missing_shifts(&capitals.iter().map(String::as_str).collect::<Vec<_>>()) {
            let keyword = if is_lower { keyword.to_ascii_lowercase() } else { keyword };
            edit.set(&path.join(keyword), &Value::from(value))?;
        }
        Ok(())
    }

    /// The pixels by which a card moves: CRPIXja, and LTVi of IRAF.
    pub(super) fn keyword_shift(&self, keyword: &str) -> Option<f64> {
        let axis = match keyword.strip_prefix("LTV") {
            Some(axis) => axis,
            None => description_key(keyword).and_then(|key| keyword.strip_prefix("CRPIX")?.strip_suffix(key))?,
        };
        let axis: usize = axis.parse().ok()?;
        self.pixels.start.get(axis.checked_sub(1)?).map(|start| *start as f64)
    }
}

/// Returns the letter of the description of coordinates that a keyword belongs to, empty for the primary one.
fn description_key(keyword: &str) -> Option<&str> {
    let rest = ["CTYPE", "CRVAL", "CDELT", "CRPIX"].iter().find_map(|name| keyword.strip_prefix(name))?;
    let key = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_key = key.is_empty() || key.len() == 1 && key.starts_with(|c: char| c.is_ascii_uppercase());
    (is_key && key.len() < rest.len()).then_some(key)
}
