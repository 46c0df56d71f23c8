//! Global addresses: 64 bits that name a byte of the memory of all ranks.
//!
//! ```text
//!   63                                                                  0
//!   | rank + 1 | colour | generation | region |          offset         |
//! ```
//!
//! The widths follow from the number of ranks and of colours, so an address means the same to all ranks,
//! and 0 is none. Addition to an address stays in its region as long as it stays inside. A region longer
//! than the greatest offset has several numbers, one after the other: the carry of an addition leads from
//! one to the next.
//!
//! The first regions are the system memory of a rank, which exists from the beginning, with colour and
//! generation 0: [`STARTER`] and [`HEAP`]. The generation of the others counts how often all numbers have been used, so the address of a region that
//! has ended names no later one for long.
//!
//! This is a value: it knows no memory. The idea of such addresses: Ajima et al., "Design concept and
//! interface of the ACP basic layer", 2014.

/// The region of the starter memory, for programs.
pub(crate) const STARTER: u32 = 0;
/// The region of the heap.
pub(crate) const HEAP: u32 = 1;
/// The number of regions that exist from the beginning.
pub(crate) const SYSTEM_REGIONS: u32 = 2;

/// The greatest number of colours.
pub(crate) const COLOURS_MAX: u32 = 16;

/// An address in the memory of all ranks. 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct GlobalAddress(pub(crate) u64);

/// The fields of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressFields {
    pub(crate) rank: u32,
    pub(crate) colour: u32,
    pub(crate) generation: u32,
    pub(crate) region: u32,
    /// In bytes.
    pub(crate) offset: u64,
}

/// The widths of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressLayout {
    ranks: u32,
    colours: u32,
    rank_shift: u32,
    colour_shift: u32,
    generation_shift: u32,
    region_shift: u32,
}

impl AddressLayout {
    /// For so many ranks, and colours of each.
    ///
    /// # Panics
    /// Without ranks or colours, and with more than 2^22 ranks or [`COLOURS_MAX`] colours.
    pub(crate) fn new(ranks: u32, colours: u32) -> Self {
        assert!((1..=1 << 22).contains(&ranks) && (1..=COLOURS_MAX).contains(&colours));
        let bits = |number: u32| u32::BITS - number.leading_zeros();
        let rank_shift = u64::BITS - bits(ranks);
        let colour_shift = rank_shift - bits(colours - 1);
        // 65,536 regions of 16 GiB each and 2 bits of generation, if there is room for that.
        let (region_bits, region_shift) = match colour_shift {
            52.. => (16, 34),
            rest => (12, rest - 14),
        };
        let generation_shift = region_shift + region_bits;
        Self { ranks, colours, rank_shift, colour_shift, generation_shift, region_shift }
    }

    /// The number of ranks.
    pub(crate) fn ranks(self) -> u32 {
        self.ranks
    }

    /// The number of colours.
    pub(crate) fn colours(self) -> u32 {
        self.colours
    }

    /// The number of regions of a rank.
    pub(crate) fn regions(self) -> u32 {
        1 << (self.generation_shift - self.region_shift)
    }

    /// The number of generations.
    pub(crate) fn generations(self) -> u32 {
        1 << (self.colour_shift - self.generation_shift).min(31)
    }

    /// The offsets of a region: a longer one has several numbers.
    pub(crate) fn offsets(self) -> u64 {
        1 << self.region_shift
    }

    /// The fields of an address; `None` if it is none, or names a rank or colour that does not exist.
    #[inline]
    pub(crate) fn split(self, address: GlobalAddress) -> Option<AddressFields> {
        let word = address.0;
        let field = |from: u32, to: u32| (word >> from) & !(!0 << (to - from));
        let rank = ((word >> self.rank_shift) as u32).wrapping_sub(1);
        let colour = field(self.colour_shift, self.rank_shift) as u32;
        (rank < self.ranks && colour < self.colours).then(|| AddressFields {
            rank,
            colour,
            generation: field(self.generation_shift, self.colour_shift) as u32,
            region: field(self.region_shift, self.generation_shift) as u32,
            offset: field(0, self.region_shift),
        })
    }

    /// The address of the fields, each inside its bounds.
    pub(crate) fn join(self, fields: AddressFields) -> GlobalAddress {
        let AddressFields { rank, colour, generation, region, offset } = fields;
        debug_assert!(rank < self.ranks && colour < self.colours && offset < self.offsets());
        debug_assert!(generation < self.generations() && region < self.regions());
        GlobalAddress(
            u64::from(rank + 1) << self.rank_shift
                | u64::from(colour) << self.colour_shift
                | u64::from(generation) << self.generation_shift
                | u64::from(region) << self.region_shift
                | offset,
        )
    }

    /// The first byte of a region of system memory.
    pub(crate) fn system(self, rank: u32, region: u32) -> GlobalAddress {
        self.join(AddressFields { rank, colour: 0, generation: 0, region, offset: 0 })
    }
}

impl GlobalAddress {
    /// No address.
    pub(crate) const NULL: Self = Self(0);

    /// The address `bytes` behind this one.
    #[inline]
    pub(crate) fn plus(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_for_every_number_of_ranks() {
        for ranks in [1, 2, 3, 7, 8, 1000, 4096, 65_535, 1 << 20, 1 << 22] {
            for colours in [1, 2, 4, 6, COLOURS_MAX] {
                let layout = AddressLayout::new(ranks, colours);
                for (rank, colour) in [(0, 0), (ranks - 1, colours - 1), (ranks / 2, 0)] {
                    let fields = AddressFields {
                        rank,
                        colour,
                        generation: layout.generations() - 1,
                        region: layout.regions() - 1,
                        offset: layout.offsets() - 1,
                    };
                    let address = layout.join(fields);
                    assert_eq!(layout.split(address), Some(fields), "{ranks} {colours}");
                    let heap = layout.split(layout.system(rank, HEAP)).unwrap();
                    assert_eq!((heap.region, heap.rank, heap.offset), (HEAP, rank, 0));
                }
                assert!(layout.regions() >= 4096 && layout.generations() >= 4);
                assert!(layout.offsets() >= 1 << 22, "{ranks} {colours}");
            }
        }
    }

    #[test]
    fn an_address_of_no_rank_or_colour_has_no_fields() {
        let layout = AddressLayout::new(5, 6);
        assert_eq!(layout.split(GlobalAddress::NULL), None);
        assert_eq!(layout.split(layout.system(4, STARTER).plus(1 << layout.rank_shift)), None);
        assert_eq!(layout.split(GlobalAddress(u64::MAX)), None);
        let colour = |colour: u64| layout.system(1, STARTER).plus(colour << layout.colour_shift);
        assert!(layout.split(colour(5)).is_some() && layout.split(colour(6)).is_none());
    }

    #[test]
    fn addition_leads_from_a_region_to_the_next() {
        let layout = AddressLayout::new(3, 1);
        let last = AddressFields {
            rank: 2,
            colour: 0,
            generation: 3,
            region: 7,
            offset: layout.offsets() - 1,
        };
        let next = layout.split(layout.join(last).plus(1)).unwrap();
        assert_eq!(next, AddressFields { region: 8, offset: 0, ..last });
    }
}
