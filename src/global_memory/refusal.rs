//! Why an access cannot be made.

use super::address::{AddressFields, HEAP, STARTER};
use super::directory::DirectoryRegion;
use platform::base::{ErrorClass, MpiError};

#[cold]
pub(crate) fn not_registered(fields: AddressFields) -> Box<MpiError> {
    let AddressFields { rank, region, offset, .. } = fields;
    ErrorClass::RmaRange.error(format!(
        "byte {offset} of region {region} of rank {rank} is not registered memory: it never was, or its \
         registration has ended"
    ))
}

/// Outside of a region, or the region has ended that the address names.
#[cold]
pub(crate) fn outside(region: DirectoryRegion, fields: AddressFields, len: usize) -> Box<MpiError> {
    if region.generation != fields.generation {
        return not_registered(fields);
    }
    let AddressFields { rank, offset, .. } = fields;
    let (first, bytes) = (region.first, region.end - region.first);
    let byte = offset.wrapping_sub(first).cast_signed();
    ErrorClass::RmaRange.error(format!(
        "{len} bytes at byte {byte} are outside of the {bytes} bytes that rank {rank} has registered"
    ))
}

/// Outside of a region of system memory, which has so many bytes.
#[cold]
pub(crate) fn outside_system(bytes: usize, fields: AddressFields, len: usize) -> Box<MpiError> {
    let AddressFields { rank, offset, region, .. } = fields;
    let what = match region {
        STARTER => "starter memory",
        HEAP => "the heap",
        _ => "memory",
    };
    ErrorClass::RmaRange.error(format!(
        "{len} bytes at byte {offset} are outside of the {bytes} bytes of {what} of rank {rank}"
    ))
}
