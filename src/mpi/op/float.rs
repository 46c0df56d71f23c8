//! Floating-point formats without a type in Rust, computed with integers: IEEE binary16 and
//! binary128 (Fortran's REAL*2 and REAL*16), and the order of the x87's 80-bit numbers.
//!
//! Results are rounded to nearest, ties to even, as compilers do (IEEE 754-2019 §4.3.1). Flags and
//! signalling NaNs are not supported.

use std::cmp::Ordering;

/// IEEE binary16: 1 sign bit, 5 bits of exponent, 10 of fraction.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct F16(pub(crate) u16);

/// IEEE binary128: 1 sign bit, 15 bits of exponent, 112 of fraction.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct F128(pub(crate) u128);

/// The x87's extended format: 64 bits of significand (its leading bit included), 15 of exponent,
/// 1 sign bit. The other 6 bytes are padding.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct F80(pub(crate) [u8; 16]);

impl F16 {
    /// The same value with more bits.
    pub(crate) fn wide(self) -> f32 {
        let sign = u32::from(self.0 >> 15) << 31;
        let fraction = u32::from(self.0 & 0x3ff);
        let magnitude = match self.0 >> 10 & 0x1f {
            0 => (fraction as f32 * (1.0 / 16_777_216.0)).to_bits(),
            0x1f => 0x7f80_0000 | fraction << 13,
            exponent => (u32::from(exponent) + 127 - 15) << 23 | fraction << 13,
        };
        f32::from_bits(sign | magnitude)
    }

    /// The nearest value. A sum or product of two `F16`s is correct despite an earlier rounding to
    /// `f32`, which has more than twice as many bits.
    pub(crate) fn nearest(value: f32) -> Self {
        let sign = (value.to_bits() >> 31 << 15) as u16;
        let magnitude = value.abs();
        let bits = magnitude.to_bits();
        let narrow = if value.is_nan() {
            0x7e00
        } else if magnitude >= 65536.0 {
            0x7c00
        } else if magnitude < 1.0 / 16384.0 {
            // The unit in the last place of 0.5 equals that of the subnormal numbers here, so the
            // addition rounds and leaves the result in the lowest bits.
            (magnitude + 0.5).to_bits() - 0.5f32.to_bits()
        } else {
            let odd = bits >> 13 & 1;
            (bits - ((127 - 15) << 23) + 0xfff + odd) >> 13
        };
        Self(sign | narrow as u16)
    }

    /// Rounded sum.
    pub(crate) fn sum(self, other: Self) -> Self {
        Self::nearest(self.wide() + other.wide())
    }

    /// Rounded difference.
    pub(crate) fn difference(self, other: Self) -> Self {
        Self::nearest(self.wide() - other.wide())
    }

    /// Rounded product.
    pub(crate) fn product(self, other: Self) -> Self {
        Self::nearest(self.wide() * other.wide())
    }
}

impl PartialEq for F16 {
    fn eq(&self, other: &Self) -> bool {
        self.wide() == other.wide()
    }
}

impl PartialOrd for F16 {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.wide().partial_cmp(&other.wide())
    }
}

impl F80 {
    /// The lowest 10 bytes as an integer.
    fn bits(self) -> u128 {
        u128::from_le_bytes(self.0) & ((1 << 80) - 1)
    }
}

impl PartialEq for F80 {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for F80 {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let parts = |bits: u128| (bits >> 79 == 1, bits & ((1 << 79) - 1));
        let is_nan = |bits: u128| bits >> 64 & 0x7fff == 0x7fff && (bits as u64) << 1 != 0;
        ordered(self.bits(), other.bits(), is_nan, parts)
    }
}

/// Orders two numbers by sign and magnitude.
fn ordered(
    one: u128, other: u128, is_nan: impl Fn(u128) -> bool, parts: impl Fn(u128) -> (bool, u128),
) -> Option<Ordering> {
    if is_nan(one) || is_nan(other) {
        return None;
    }
    let key = |bits: u128| {
        let (negative, magnitude) = parts(bits);
        if negative { -(magnitude as i128) } else { magnitude as i128 }
    };
    Some(key(one).cmp(&key(other)))
}

/// Number of fraction bits.
const FRACTION: u32 = 112;
/// Bias of the exponent.
const BIAS: i32 = 16383;
/// Exponent field of infinities and NaNs.
const TOP: i32 = 0x7fff;
/// Bit above the fraction, set in a normal number.
const LEADING: u128 = 1 << FRACTION;
const SIGN: u128 = 1 << 127;
const INFINITY: u128 = (TOP as u128) << FRACTION;
const QUIET_NAN: u128 = INFINITY | 1 << (FRACTION - 1);
/// Bits below the fraction during computation: two bits of the exact result, and a sticky bit for
/// all bits below them.
const EXTRA: u32 = 3;

/// A finite number other than 0: `significand` × 2^(`exponent` − BIAS − FRACTION).
#[derive(Clone, Copy)]
struct FloatParts {
    exponent: i32,
    /// From `LEADING` to below twice `LEADING`.
    significand: u128,
}

impl F128 {
    /// Rounded sum.
    pub(crate) fn sum(self, other: Self) -> Self {
        let (one, other) = (self.0, other.0);
        if is_nan(one) || is_nan(other) {
            return Self(QUIET_NAN);
        }
        match (is_infinite(one), is_infinite(other)) {
            (true, true) if one != other => return Self(QUIET_NAN),
            (true, _) => return Self(one),
            (_, true) => return Self(other),
            _ => {}
        }
        match (parts(one), parts(other)) {
            (None, None) => Self(one & other),
            (Some(_), None) => Self(one),
            (None, Some(_)) => Self(other),
            (Some(a), Some(b)) => Self(sum_of_parts(one & SIGN, a, other & SIGN, b)),
        }
    }

    /// Rounded difference.
    pub(crate) fn difference(self, other: Self) -> Self {
        self.sum(Self(other.0 ^ SIGN))
    }

    /// Rounded product.
    pub(crate) fn product(self, other: Self) -> Self {
        let sign = (self.0 ^ other.0) & SIGN;
        if is_nan(self.0) || is_nan(other.0) {
            return Self(QUIET_NAN);
        }
        let infinite = is_infinite(self.0) || is_infinite(other.0);
        Self(match (parts(self.0), parts(other.0)) {
            (None, _) | (_, None) if infinite => QUIET_NAN,
            _ if infinite => sign | INFINITY,
            (None, _) | (_, None) => sign,
            (Some(a), Some(b)) => {
                let (high, low) = wide_product(a.significand, b.significand);
                // At least 2^224, which is 113 bits above bit 111, so 3 extra bits are above bit
                // 108.
                let kept = FRACTION - EXTRA;
                let lost = low & ((1 << kept) - 1) != 0;
                let significand = high << (128 - kept) | low >> kept | u128::from(lost);
                rounded(sign, a.exponent + b.exponent - BIAS, significand)
            }
        })
    }
}

impl PartialEq for F128 {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for F128 {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        ordered(self.0, other.0, is_nan, |bits| (bits & SIGN != 0, bits & !SIGN))
    }
}

fn is_nan(bits: u128) -> bool {
    bits & !SIGN > INFINITY
}

fn is_infinite(bits: u128) -> bool {
    bits & !SIGN == INFINITY
}

/// Splits a finite number into its parts; `None` for 0.
fn parts(bits: u128) -> Option<FloatParts> {
    let exponent = (bits >> FRACTION) as i32 & TOP;
    let fraction = bits & (LEADING - 1);
    match (exponent, fraction) {
        (0, 0) => None,
        (0, _) => {
            let shift = fraction.leading_zeros() - LEADING.leading_zeros();
            Some(FloatParts { exponent: 1 - shift as i32, significand: fraction << shift })
        }
        _ => Some(FloatParts { exponent, significand: LEADING | fraction }),
    }
}

fn sum_of_parts(sign_a: u128, a: FloatParts, sign_b: u128, b: FloatParts) -> u128 {
    let a_is_larger = (a.exponent, a.significand) >= (b.exponent, b.significand);
    let (sign, large, small) = if a_is_larger { (sign_a, a, b) } else { (sign_b, b, a) };
    let distance = (large.exponent - small.exponent) as u32;
    let aligned = shifted(small.significand << EXTRA, distance);
    let significand = large.significand << EXTRA;
    if sign_a == sign_b {
        return rounded(sign, large.exponent, significand + aligned);
    }
    match significand - aligned {
        0 => 0,
        difference => rounded(sign, large.exponent, difference),
    }
}

/// 256-bit product of two numbers of less than 120 bits, as high and low half.
fn wide_product(a: u128, b: u128) -> (u128, u128) {
    let halves = |number: u128| (number >> 64, number & u128::from(u64::MAX));
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    let middle = a_high * b_low + a_low * b_high;
    let (low, carry) = (a_low * b_low).overflowing_add(middle << 64);
    (a_high * b_high + (middle >> 64) + u128::from(carry), low)
}

/// `bits >> by`; the lowest bit is sticky: it is set if any lost bit was set.
fn shifted(bits: u128, by: u32) -> u128 {
    match by {
        0 => bits,
        1..128 => bits >> by | u128::from(bits << (128 - by) != 0),
        _ => u128::from(bits != 0),
    }
}

/// Rounds and packs `significand` × 2^(`exponent` − BIAS − FRACTION − EXTRA), which is not 0.
fn rounded(sign: u128, exponent: i32, significand: u128) -> u128 {
    let target = (LEADING << EXTRA).leading_zeros();
    let zeros = significand.leading_zeros();
    let mut exponent = exponent + target as i32 - zeros as i32;
    let mut significand = if zeros < target {
        shifted(significand, target - zeros)
    } else {
        significand << (zeros - target)
    };
    if exponent <= 0 {
        significand = shifted(significand, (1 - exponent) as u32);
        exponent = 0;
    }
    let lost = significand & ((1 << EXTRA) - 1);
    let half = 1 << (EXTRA - 1);
    significand >>= EXTRA;
    significand += u128::from(lost > half || (lost == half && significand & 1 == 1));
    // Addition, not OR: the leading bit of a normal number and a carry out of the fraction increase
    // the exponent.
    let base = (exponent.max(1) as u128 - 1) << FRACTION;
    match base + significand {
        magnitude if magnitude >= INFINITY => sign | INFINITY,
        magnitude => sign | magnitude,
    }
}

#[cfg(test)]
impl F128 {
    /// Converts a normal number, 0 or infinity.
    pub(crate) fn of(value: f64) -> Self {
        let bits = value.to_bits();
        let sign = u128::from(bits >> 63) << 127;
        let exponent = match u128::from(bits >> 52 & 0x7ff) {
            0 => return Self(sign),
            0x7ff => TOP as u128,
            exponent => exponent + 16383 - 1023,
        };
        Self(sign | exponent << FRACTION | u128::from(bits << 12) << 48)
    }
}

#[cfg(test)]
impl F80 {
    /// Converts a normal number, 0 or infinity; the padding is not zero.
    pub(crate) fn of(value: f64) -> Self {
        let quad = F128::of(value).0;
        let integer = u128::from(value != 0.0) << 63;
        let fraction = quad >> 49 & ((1 << 63) - 1);
        Self((quad >> FRACTION << 64 | integer | fraction | 0xabcd << 80).to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_binary16_keeps_its_value() {
        for bits in 0..=u16::MAX {
            let number = F16(bits);
            let back = F16::nearest(number.wide());
            assert!(back.0 == bits || (number.wide().is_nan() && back.wide().is_nan()));
        }
    }

    #[test]
    fn values_between_two_binary16_go_to_the_nearer_or_the_even() {
        for bits in 0..0x7bffu16 {
            let (low, high) = (F16(bits).wide(), F16(bits + 1).wide());
            let middle = low + (high - low) / 2.0;
            let even = bits + (bits & 1);
            assert_eq!(F16::nearest(middle).0, even);
            assert_eq!(F16::nearest(middle.next_down()).0, bits);
            assert_eq!(F16::nearest(middle.next_up()).0, bits + 1);
            assert_eq!(F16::nearest(-middle).0, even | 0x8000);
        }
        assert_eq!((F16::nearest(65519.996).0, F16::nearest(65520.0).0), (0x7bff, 0x7c00));
    }

    #[test]
    fn numbers_with_integer_bits_are_ordered_like_their_values() {
        let (of, extended) = (F128::of, F80::of);
        let values = [f64::NEG_INFINITY, -1e300, -1.5, -1.0, -0.0, 0.0, 1e-300, 3.0, f64::INFINITY];
        for a in values.into_iter().chain([f64::NAN]) {
            for b in values.into_iter().chain([f64::NAN]) {
                assert_eq!(of(a).partial_cmp(&of(b)), a.partial_cmp(&b), "{a} {b}");
                assert_eq!(extended(a).partial_cmp(&extended(b)), a.partial_cmp(&b), "{a} {b}");
            }
        }
    }

    #[test]
    fn infinities_follow_the_standard() {
        let (one, minus) = (F128((BIAS as u128) << FRACTION), SIGN);
        let infinity = F128(INFINITY);
        let negative = F128(INFINITY | minus);
        assert_eq!(infinity.sum(one).0, INFINITY);
        assert_eq!(one.sum(negative).0, INFINITY | minus);
        assert_eq!(one.product(negative).0, INFINITY | minus);
        for nan in [infinity.sum(negative), infinity.product(F128(minus)), one.sum(F128(!0))] {
            assert!(is_nan(nan.0));
        }
        assert_eq!(one.difference(one).0, 0);
    }
}
