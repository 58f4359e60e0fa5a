//! `trilith layout resolve FILE.dud`: the byte offset of each item.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use trilith::bytes::SourceRef;
use trilith::dudley::Signature;
use trilith::layout::{MIN_CONDENSED_LIST, Byteorder, Dialect, LayoutEntry, LayoutEvaluation, EvaluationError, Layout, EvaluateOptions as Evaluate, ParamRequest, SuppliedValue};
use trilith::{Error, Limits, Result};

use super::{LayoutArg, report_layout_error, diagnostics_json};
use crate::outcome::Outcome;
use crate::session::{FileRole, Session};
use crate::output::{Output, TextTable};

/// Show the byte offset of every item of a layout
///
/// The stored parameters come from --params, in the order in which they occur, or from a --data file.
#[derive(Debug, Args)]
pub(super) struct Resolve {
    #[command(flatten)]
    input: LayoutArg,
    /// Read parameters (and the byte order, if the layout does not give it) from this file
    #[arg(long, value_name = "FILE", conflicts_with = "params")]
    data: Option<String>,
    /// The values of the stored parameters, those of struct instances included
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', allow_hyphen_values = true)]
    params: Option<Vec<i64>>,
    /// The byte order if the layout does not give it, as --byteorder
    #[arg(long, value_name = "ORDER")]
    order: Option<ByteorderArg>,
    /// Compute byte offsets as in a native `.bd` file
    #[arg(long)]
    native: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ByteorderArg {
    Little,
    Big,
}

/// A stream that parameters are read from.
struct ParamStream {
    source: SourceRef,
    /// Byte offset of address 0 in the file
    base: u64,
}

impl Resolve {
    /// Prints the items.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let Some((mut layout, warnings)) = self.input.load_layout(session)? else { return Ok(Outcome::Negative) };
        if !session.layout_params()?.is_empty() {
            let data = self.data.as_ref().ok_or_else(|| {
                Error::invalid_input("--param needs the file whose layout it is").hint("give --data FILE; --params has stored parameters")
            })?;
            layout = session.open(data, FileRole::Under(Some(&self.input.file)))?.into_dudley()?.layout().clone();
        }
        let mut how = Evaluate::default();
        (how.is_native, how.limits) = (self.native, session.limits().clone());
        // A native file has its own parameters.
        let own = self.params.is_none() && self.data.is_none() && self.input.is_native(session)?;
        let stream = match self.data.as_ref().or(Some(&self.input.file).filter(|_| own)) {
            Some(data) => match open_stream(session, data, &layout, &mut how) {
                Ok(stream) => Some(stream),
                Err(error) => return report_layout_error(error, session),
            },
            None => None,
        };
        // The signature of a native file overrides the caller.
        how.byteorder = how.byteorder.or(self.order.map(|order| match order {
            ByteorderArg::Little => Byteorder::Little,
            ByteorderArg::Big => Byteorder::Big,
        }))
        .or(session.args.byteorder());
        let evaluated = match (&self.params, stream) {
            (Some(values), _) => layout.evaluate_with(&how, values),
            (None, Some(stream)) => layout.evaluate(&how, |request| stream.read_parameter(request)),
            (None, None) => layout.evaluate(&how, no_values),
        };
        let report = evaluated.and_then(|found| collect_entries(&found, &how.limits).map(|entries| (entries, found)));
        match report {
            Ok((entries, found)) => {
                let document = || {
                    json!({
                        "dialect": layout.dialect().name(),
                        "items": entries.iter().map(entry_to_json).collect::<Vec<Value>>(),
                        "total": found.total(),
                        "next": found.next(),
                        "warnings": diagnostics_json(&warnings),
                    })
                };
                session.print_json_or_text(document, |out| {
                    self.input.print_warnings(session, layout.text(), &warnings);
                    print_entry_table(&entries, &found, out)
                })?;
                Ok(Outcome::Success)
            }
            Err(EvaluationError::Text(fault)) => {
                self.input.print_errors(session, layout.text(), &[*fault])?;
                Ok(Outcome::Negative)
            }
            Err(EvaluationError::Other(error)) => Err(error),
        }
    }
}

/// Opens the file; its signature has the byte order, if it is native.
fn open_stream(session: &Session<'_>, path: &str, layout: &Layout, how: &mut Evaluate) -> Result<ParamStream> {
    let source = session.open_source(path)?;
    how.byteorder = Signature::read(&*source)?.map(|signature| signature.order);
    how.is_native |= how.byteorder.is_some();
    let base = if how.is_native && layout.dialect() == Dialect::D2026 { 16 } else { 0 };
    Ok(ParamStream { source, base })
}

impl ParamStream {
    fn read_parameter(&self, request: &ParamRequest) -> Result<SuppliedValue> {
        let have = self.source.len().saturating_sub(self.base);
        let size = request.datatype.size();
        let Some(address) = request.address.filter(|address| address.checked_add(size).is_some_and(|end| end <= have)) else {
            return Ok(SuppliedValue::TooFewBytes(have));
        };
        let mut bytes = [0u8; 8];
        self.source.read_at(self.base + address, &mut bytes[..size as usize])?;
        Ok(SuppliedValue::Bytes(bytes))
    }
}

/// Answers without `--params` and `--data`: only lengths of compressed arrays may stay unknown.
fn no_values(request: &ParamRequest) -> Result<SuppliedValue> {
    if request.is_length {
        return Ok(SuppliedValue::Unknown);
    }
    Err(Error::invalid_input("the layout has stored parameters, and their values were not given")
        .hint("give --params 4,3,2 or --data FILE"))
}

fn collect_entries(found: &LayoutEvaluation<'_>, limits: &Limits) -> std::result::Result<Vec<LayoutEntry>, EvaluationError> {
    let mut entries = Vec::new();
    for entry in found.condensed(MIN_CONDENSED_LIST) {
        if entries.len() as u64 >= limits.items {
            return Err(
                Limits::exceeded_error("items", limits.items, format_args!("the layout has over {} items", limits.items)).into()
            );
        }
        entries.push(entry?);
    }
    Ok(entries)
}

fn entry_to_json(entry: &LayoutEntry) -> Value {
    let mut item = json!({
        "path": entry.path,
        "kind": entry.kind.name(),
        "address": entry.address,
        "datatype": entry.datatype,
        "shape": entry.shape,
        "nbytes": entry.nbytes,
    });
    if let (Value::Object(fields), true) = (&mut item, entry.kind == trilith::layout::StreamEntryKind::Param) {
        fields.insert("value".into(), json!(entry.value));
    }
    if let (Value::Object(fields), Some(stride)) = (&mut item, entry.stride) {
        fields.insert("stride".into(), json!(stride));
    }
    item
}

fn print_entry_table(entries: &[LayoutEntry], found: &LayoutEvaluation<'_>, out: &mut Output) -> Result<()> {
    let number = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
    let mut table = TextTable::new(&[">address", ">bytes", "datatype", "shape", "<path"]);
    for entry in entries {
        let shape: Vec<String> = entry.shape.iter().map(u64::to_string).collect();
        let value = entry.value.map_or(String::new(), |value| format!(" = {value}"));
        let every = entry.stride.map_or(String::new(), |stride| format!(", every {stride} bytes"));
        table.push_row(vec![
            number(entry.address),
            number(entry.nbytes),
            entry.datatype.clone(),
            format!("[{}]", shape.join(",")),
            format!("{}{value}{every}", entry.path),
        ]);
    }
    table.print(out)?;
    out.write_line(&format!("total {}, next {}", number(found.total()), number(found.next())))
}
