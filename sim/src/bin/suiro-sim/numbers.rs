//! Numbers of the command line: powers of two, ranges, lists.

use std::ops::RangeInclusive;

/// `1024` or `2^10`.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.split_once('^') {
        Some(("2", power)) => power.parse().ok().and_then(|power| 1_u64.checked_shl(power)),
        Some(_) => None,
        None => text.parse().ok(),
    };
    parsed.ok_or_else(|| "expected a number, such as 1024 or 2^10".to_owned())
}

/// A parser for numbers of this range.
pub(crate) fn number_in(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| match number(text)? {
        number if range.contains(&number) => Ok(number),
        _ => Err(format!("expected a number from {} to {}", range.start(), range.end())),
    }
}

/// A list of numbers, each from `range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberList(pub(crate) Vec<u64>);

/// A parser for `0,2,5` and `0..4` (the end included).
pub(crate) fn list_in(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<NumberList, String> + Clone + Send + Sync + 'static {
    let number = number_in(range);
    move |text| {
        let mut all = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.split_once("..") {
                Some((first, last)) => all.extend(number(first)?..=number(last)?),
                None => all.push(number(part)?),
            }
        }
        Ok(NumberList(all))
    }
}

/// A parser for powers of two, as exponents: `2^4..2^20` is each of them, `16,1024` these two.
pub(crate) fn powers(text: &str, exponents: RangeInclusive<u64>) -> Result<NumberList, String> {
    let exponent = |text: &str| {
        let value = number(text)?;
        let exponent = u64::from(value.checked_ilog2().unwrap_or(0));
        let (first, last) = (exponents.start(), exponents.end());
        match value.is_power_of_two() && exponents.contains(&exponent) {
            true => Ok(exponent),
            false => Err(format!("{text}: expected a power of two from 2^{first} to 2^{last}")),
        }
    };
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            Some((first, last)) => all.extend(exponent(first)?..=exponent(last)?),
            None => all.push(exponent(part)?),
        }
    }
    Ok(NumberList(all))
}
