// Files to look at, written byte by byte: they hold what the tests know.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

const ARRAY = "!<tag:stsci.edu:asdf/core/ndarray-1.0.0>";
const HEADER = 48;

/** A block of a file: its header and its bytes. */
function block(bytes) {
  const header = Buffer.alloc(6 + HEADER);
  header.set([0xd3, 0x42, 0x4c, 0x4b], 0);
  header.writeUInt16BE(HEADER, 4);
  const size = BigInt(bytes.byteLength);
  header.writeBigUInt64BE(size, 14); // allocated
  header.writeBigUInt64BE(size, 22); // used
  header.writeBigUInt64BE(size, 30); // data
  return Buffer.concat([header, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)]);
}

/** A file with this tree and these blocks. */
export function asdf(tree, blocks = []) {
  const text = `#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n%YAML 1.1\n---\n${tree}\n...\n`;
  return Buffer.concat([Buffer.from(text), ...blocks.map(block)]);
}

const described = (source, datatype, shape) => `${ARRAY} {source: ${source}, datatype: ${datatype}, byteorder: little, shape: [${shape.join(", ")}]}`;

/** Numbers that look like noise, and are the same every time. */
function noise(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A field of stars on a background, with one pixel of a known value, one that is not a number, and a bad column. */
export function stars(width, height, seed = 1) {
  const random = noise(seed);
  const values = new Float32Array(width * height);
  for (let i = 0; i < values.length; i += 1) values[i] = 100 + 5 * (random() + random() + random() - 1.5);
  for (let star = 0; star < 150; star += 1) {
    const [x, y, light, size] = [random() * width, random() * height, 50 * 10 ** (random() * 2.2), 1.2 + random() * 1.6];
    for (let j = Math.max(0, Math.floor(y - 12)); j < Math.min(height, y + 12); j += 1) {
      for (let i = Math.max(0, Math.floor(x - 12)); i < Math.min(width, x + 12); i += 1) {
        values[j * width + i] += light * Math.exp(-((i - x) ** 2 + (j - y) ** 2) / (2 * size * size));
      }
    }
  }
  // A galaxy in the middle.
  for (let j = 0; j < height; j += 1) {
    for (let i = 0; i < width; i += 1) {
      const [dx, dy] = [(i - width / 2) / (width / 9), (j - height / 2) / (height / 16)];
      values[j * width + i] += 220 * Math.exp(-Math.sqrt(dx * dx + dy * dy + dx * dy) * 2.2);
    }
  }
  values[3 * width + 7] = 12345.5;
  values[10 * width + 10] = NaN;
  return values;
}

/** The file that most of the tests look at. */
export function observation(size = 1200) {
  const data = stars(size, size);
  const second = Float32Array.from(data, (value, at) => value + (at % size < size / 2 ? 0 : 40));
  const cube = new Int16Array(5 * 40 * 60).map((_, at) => Math.floor(at / 2400) * 100 + (at % 60));
  const rows = 20_000;
  const time = Float64Array.from({ length: rows }, (_, at) => at / 10);
  const flux = Float64Array.from({ length: rows }, (_, at) => 50 + 10 * Math.sin(at / 300) + (at === 12_345 ? 500 : 0));
  const number = Int32Array.from({ length: rows }, (_, at) => (at * 7919) % rows);
  const colours = new Uint8Array(64 * 96 * 3).map((_, at) => (at % 3 === 0 ? (at / 3) % 96 * 2 : at % 3 === 1 ? Math.floor(at / 288) * 3 : 90));
  const column = (name, source, type, unit) => `    - {name: ${name}, unit: ${unit}, data: ${described(source, type, [rows])}}`;
  const tree = [
    "instrument: {name: WFI, detector: WFI07, temperature: -91.5}",
    "exposure:",
    "  start: 2027-03-01T12:00:00",
    "  time: 139.8",
    "  filters: [F087, F106, F129]",
    "wcsinfo: {ctype1: RA---TAN, ctype2: DEC--TAN, crpix1: 601, crpix2: 601, crval1: 270.94, crval2: -29.13, cdelt1: -3.0e-5, cdelt2: 3.0e-5, radesys: ICRS}",
    `image: ${described(0, "float32", [size, size])}`,
    `second: ${described(1, "float32", [size, size])}`,
    `cube: ${described(2, "int16", [5, 40, 60])}`,
    "catalogue:",
    "  columns:",
    column("time", 3, "float64", "s"),
    column("flux", 4, "float64", "mJy"),
    column("number", 5, "int32", "''"),
    `light_curve: ${described(4, "float64", [rows])}`,
    `colours: ${described(6, "uint8", [64, 96, 3])}`,
    "notes: |",
    ...Array.from({ length: 300 }, (_, at) => `  line ${at + 1} of the notes`),
  ].join("\n");
  return asdf(tree, [data, second, cube, time, flux, number, colours]);
}

/** A frame of Roman with quality flags: each quarter of it has a bit of its own, the last one none. */
export function flagged(size = 200) {
  const data = stars(size, size, 7);
  const half = size / 2;
  const dq = new Uint32Array(size * size).map((_, at) => [1, 2, 2 ** 31, 0][(Math.floor(at / size) < half ? 0 : 2) + (at % size < half ? 0 : 1)]);
  const tree = [
    "roman:", "  meta: {telescope: ROMAN}", `  data: ${described(0, "float32", [size, size])}`, `  dq: ${described(1, "uint32", [size, size])}`,
  ].join("\n");
  return asdf(tree, [data, dq]);
}

const RECORD = 2880;

/** A card of a FITS header. */
function card(keyword, value, comment = "") {
  const said = typeof value === "string" ? `'${value.replaceAll("'", "''").padEnd(8)}'` : String(value === true ? "T" : value).padStart(20);
  return `${keyword.padEnd(8)}= ${said}${comment ? ` / ${comment}` : ""}`.slice(0, 80).padEnd(80);
}

/** An HDU: its cards and its bytes, each in whole records. */
function hdu(cards, bytes = Buffer.alloc(0), fill = 0) {
  const text = cards.map((given) => card(...given)).join("") + "END".padEnd(80);
  const rest = (length) => (RECORD - (length % RECORD)) % RECORD;
  return Buffer.concat([Buffer.from(text + " ".repeat(rest(text.length))), bytes, Buffer.alloc(rest(bytes.length), fill)]);
}

/** A FITS file: a primary HDU without data, the image SCI with sky coordinates, and the table CAT. The first rows of the image are bright. */
export function fits(width = 300, height = 200) {
  const values = stars(width, height, 5);
  for (let i = 0; i < width * 20; i += 1) values[i] = 400;
  const image = Buffer.alloc(width * height * 4);
  values.forEach((value, at) => image.writeFloatBE(Number.isNaN(value) ? 100 : value, at * 4));
  const turn = Math.PI / 6;
  const scale = 0.2 / 3600;
  const rows = 40;
  const table = Buffer.alloc(rows * 20);
  for (let row = 0; row < rows; row += 1) {
    table.writeInt32BE(row + 1, row * 20);
    table.writeDoubleBE(20 - row / 4, row * 20 + 4);
    table.write(`star${row}`.padEnd(8), row * 20 + 12, "ascii");
  }
  return Buffer.concat([
    hdu([["SIMPLE", true, "conforms to FITS standard"], ["BITPIX", 8], ["NAXIS", 0], ["EXTEND", true], ["OBJECT", "M 42", "name of the target"],
      ["TELESCOP", "EXAMPLE"], ["DATE-OBS", "2026-11-29T05:00:00", "start of the exposure"], ["EXPTIME", 139.8, "[s] exposure time"]]),
    hdu([["XTENSION", "IMAGE", "image extension"], ["BITPIX", -32], ["NAXIS", 2], ["NAXIS1", width], ["NAXIS2", height], ["PCOUNT", 0], ["GCOUNT", 1],
      ["EXTNAME", "SCI", "science image"], ["BUNIT", "mJy", "unit of the pixels"], ["CTYPE1", "RA---TAN"], ["CTYPE2", "DEC--TAN"], ["CRVAL1", 83.8221, "[deg] right ascension"],
      ["CRVAL2", -5.3911, "[deg] declination"], ["CRPIX1", width / 2], ["CRPIX2", height / 2], ["CUNIT1", "deg"], ["CUNIT2", "deg"],
      ["CD1_1", Number((-scale * Math.cos(turn)).toExponential(8))], ["CD1_2", Number((scale * Math.sin(turn)).toExponential(8))], ["CD2_1", Number((scale * Math.sin(turn)).toExponential(8))],
      ["CD2_2", Number((scale * Math.cos(turn)).toExponential(8))], ["RADESYS", "ICRS"], ["FILTER", "F106"], ["AIRMASS", 1.21], ["GAIN", 1.8, "[electron/adu] gain"]], image),
    hdu([["XTENSION", "BINTABLE", "binary table extension"], ["BITPIX", 8], ["NAXIS", 2], ["NAXIS1", 20], ["NAXIS2", rows], ["PCOUNT", 0], ["GCOUNT", 1], ["TFIELDS", 3],
      ["EXTNAME", "CAT"], ["TTYPE1", "id"], ["TFORM1", "J"], ["TTYPE2", "mag"], ["TFORM2", "D"], ["TUNIT2", "mag"], ["TTYPE3", "name"], ["TFORM3", "8A"]], table),
  ]);
}

/** A tree with a great many nodes. */
export function wide(count) {
  return asdf(`many:\n${Array.from({ length: count }, (_, at) => `  key${at}: ${at}`).join("\n")}`);
}

const MARKUP = [
  "<script>window.harmed=1</script>", "<img src=x onerror=window.harmed=1>", "<svg/onload=window.harmed=1>", "\"><b id=harmed>bold</b>",
  "javascript:window.harmed=1", "<iframe srcdoc='<script>parent.harmed=1</script>'></iframe>", "{{constructor.constructor('window.harmed=1')()}}",
  "&lt;script&gt;window.harmed=1&lt;/script&gt;", "' onmouseover='window.harmed=1", "<style>*{display:none}</style>", "<base href='http://evil.example/'>",
  "<meta http-equiv=refresh content='0;url=http://evil.example/'>", "</title><script>window.harmed=1</script>", "<!--", "]]>", "\u202Eevil\u202C",
  "a/../../b", "#file=9&path=/x", "${window.harmed=1}", "%3Cscript%3Ewindow.harmed=1%3C/script%3E",
];

/** Twenty files whose names, keys, values, units, tags and columns hold markup. */
export function hostile() {
  return MARKUP.map((text, at) => {
    const quoted = JSON.stringify(text);
    const records = `${ARRAY} {source: 0, byteorder: little, shape: [4], datatype: [{name: ${quoted}, datatype: float32, byteorder: little}]}`;
    const tree = [
      `${quoted}: ${quoted}`, `value: ${quoted}`, `list: [${quoted}, ${quoted}]`, `records: ${records}`,
      `tagged: !<tag:evil.example:${encodeURIComponent(text)}> {a: ${quoted}}`, `text: ${JSON.stringify(`${text}\n${text}\n`.repeat(30))}`,
      `columns: {columns: [{name: ${quoted}, unit: ${quoted}, data: ${described(0, "float32", [4])}}]}`,
    ].join("\n");
    // What a file system takes as a name.
    const name = `${at}${text.replaceAll("/", "∕").replaceAll("\0", "").slice(0, 60)}.asdf`;
    return { name, text, bytes: asdf(tree, [new Float32Array([1, 2, 3, 4])]) };
  });
}

/** Writes a file into a folder and gives its path. */
export function write(folder, name, bytes) {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}
