//! The units that are known.

/// Exponents of length, mass, time, money (dollars), calendar months, electric current, data,
/// euros, pounds sterling, angle, temperature, amount of substance.
pub(super) type Dimension<T = i8> = [T; 12];

/// Names of the base units that are named.
pub(super) const BASES: Dimension<&str> = [
    "m", "kg", "s", "", "month", "A", "bit", "euro", "pound", "", "K", "mol",
];

pub(super) const NONE: Dimension = [0; 12];
const LENGTH: Dimension = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const VOLUME: Dimension = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const MASS: Dimension = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const TIME: Dimension = [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const DOLLAR: Dimension = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
const MONTH: Dimension = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
const CURRENT: Dimension = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
const DATA: Dimension = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0];
const EURO: Dimension = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
const STERLING: Dimension = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
const ANGLE: Dimension = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0];
const FORCE: Dimension = [1, 1, -2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const ENERGY: Dimension = [2, 1, -2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const POWER: Dimension = [2, 1, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const FREQUENCY: Dimension = [0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const AREA: Dimension = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const TEMPERATURE: Dimension = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const AMOUNT: Dimension = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const CHARGE: Dimension = [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
const PRESSURE: Dimension = [-1, 1, -2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const RESISTANCE: Dimension = [2, 1, -3, 0, 0, -2, 0, 0, 0, 0, 0, 0];
const MAGNETIC: Dimension = [0, 1, -2, 0, 0, -1, 0, 0, 0, 0, 0, 0];
const VOLTAGE: Dimension = [2, 1, -3, 0, 0, -1, 0, 0, 0, 0, 0, 0];

/// A unit: canonical name, other spellings, dimension, scale to the base unit of that dimension.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) spellings: &'static [&'static str],
    pub(super) dimension: Dimension,
    pub(super) scale: (u64, u64),
}

const fn row(
    name: &'static str,
    spellings: &'static [&'static str],
    dimension: Dimension,
    above: u64,
    below: u64,
) -> Row {
    Row {
        name,
        spellings,
        dimension,
        scale: (above, below),
    }
}

/// Base units: metre, kilogram, second, dollar, month, ampere, bit, euro, pound, radian, kelvin, mole.
pub(super) const UNITS: &[Row] = &[
    row("m", &["meter", "meters", "metre", "metres"], LENGTH, 1, 1),
    row(
        "km",
        &["kilometer", "kilometers", "kilometre", "kilometres", "kms"],
        LENGTH,
        1000,
        1,
    ),
    row("dm", &["decimeter", "decimeters"], LENGTH, 1, 10),
    row(
        "cm",
        &[
            "centimeter",
            "centimeters",
            "centimetre",
            "centimetres",
            "cms",
        ],
        LENGTH,
        1,
        100,
    ),
    row(
        "mm",
        &["millimeter", "millimeters", "millimetre", "millimetres"],
        LENGTH,
        1,
        1000,
    ),
    row("nm", &["nanometer", "nanometers"], LENGTH, 1, 1_000_000_000),
    row("in", &["inch", "inches", "ins"], LENGTH, 254, 10_000),
    row("ft", &["foot", "feet"], LENGTH, 3048, 10_000),
    row("yd", &["yard", "yards", "yds"], LENGTH, 9144, 10_000),
    row("mi", &["mile", "miles"], LENGTH, 1_609_344, 1000),
    row("kg", &["kilogram", "kilograms", "kgs"], MASS, 1, 1),
    row("g", &["gram", "grams", "gm", "gms"], MASS, 1, 1000),
    row("mg", &["milligram", "milligrams"], MASS, 1, 1_000_000),
    row(
        "lb",
        &["lbs", "pound", "pounds"],
        MASS,
        45_359_237,
        100_000_000,
    ),
    row("oz", &["ounce", "ounces"], MASS, 45_359_237, 1_600_000_000),
    row("s", &["sec", "secs", "second", "seconds"], TIME, 1, 1),
    row("ms", &["millisecond", "milliseconds"], TIME, 1, 1000),
    row("min", &["mins", "minute", "minutes"], TIME, 60, 1),
    row("h", &["hr", "hrs", "hour", "hours"], TIME, 3600, 1),
    row("day", &["days"], TIME, 86_400, 1),
    row("week", &["weeks"], TIME, 604_800, 1),
    row("month", &["months"], MONTH, 1, 1),
    row("year", &["years", "yr", "yrs"], MONTH, 12, 1),
    row("decade", &["decades"], MONTH, 120, 1),
    row("dollar", &["dollars", "usd"], DOLLAR, 1, 1),
    row("cent", &["cents"], DOLLAR, 1, 100),
    row("euro", &["euros"], EURO, 1, 1),
    row("pound sterling", &["pounds sterling"], STERLING, 1, 1),
    row(
        "L",
        &["l", "liter", "liters", "litre", "litres"],
        VOLUME,
        1,
        1000,
    ),
    row(
        "mL",
        &[
            "ml",
            "milliliter",
            "milliliters",
            "millilitre",
            "millilitres",
        ],
        VOLUME,
        1,
        1_000_000,
    ),
    row("acre", &["acres"], AREA, 40_468_564_224, 10_000_000),
    row("ha", &["hectare", "hectares"], AREA, 10_000, 1),
    row("N", &["newton", "newtons"], FORCE, 1, 1),
    row("J", &["joule", "joules"], ENERGY, 1, 1),
    row("kJ", &["kilojoule", "kilojoules"], ENERGY, 1000, 1),
    row("W", &["watt", "watts"], POWER, 1, 1),
    row("kW", &["kilowatt", "kilowatts"], POWER, 1000, 1),
    row("Hz", &["hertz"], FREQUENCY, 1, 1),
    row("A", &["ampere", "amperes", "amp", "amps"], CURRENT, 1, 1),
    row("V", &["volt", "volts"], VOLTAGE, 1, 1),
    row("K", &["kelvin", "kelvins"], TEMPERATURE, 1, 1),
    row("mol", &["mole", "moles"], AMOUNT, 1, 1),
    row("coulomb", &["coulombs"], CHARGE, 1, 1),
    row("Pa", &["pascal", "pascals"], PRESSURE, 1, 1),
    row("kPa", &["kilopascal", "kilopascals"], PRESSURE, 1000, 1),
    row(
        "MPa",
        &["megapascal", "megapascals"],
        PRESSURE,
        1_000_000,
        1,
    ),
    row("atm", &["atmosphere", "atmospheres"], PRESSURE, 101_325, 1),
    row("ohm", &["ohms"], RESISTANCE, 1, 1),
    row("tesla", &["teslas"], MAGNETIC, 1, 1),
    row("kcal", &[], ENERGY, 4184, 1),
    row("bit", &["bits"], DATA, 1, 1),
    row("byte", &["bytes"], DATA, 8, 1),
    row("rad", &["radian", "radians"], ANGLE, 1, 1),
];

/// Spellings of compound units.
pub(super) const COMPOUND: &[(&str, &str)] = &[
    ("mph", "mi/h"),
    ("kph", "km/h"),
    ("kmh", "km/h"),
    ("fps", "ft/s"),
    ("cc", "cm^3"),
    ("sq ft", "ft^2"),
    ("sq in", "in^2"),
    ("degrees", "degree"),
    ("degree", "degree"),
    ("deg", "degree"),
];
