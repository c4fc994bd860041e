//! Units of measure, as data.
