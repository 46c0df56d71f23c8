//! `suiro-sim offload resources`: counters, slots and bits by scheme.

use clap::{ArgMatches, Command};
use mpi_abi::offload::Scheme;
use mpi_abi::offload::resources::MessageRounds;
use sim::offload::{resources, table};

use super::{offloaded, with_collective};

pub(super) fn command() -> Command {
    let about = "Prints the resources of an interface that an operation needs, by scheme.";
    let long = "Prints the resources of an interface that an operation needs, by scheme: counters of \
    an instance, tanks (copies of them), slots for deferred work, distinct thresholds of a \
    counter, and the bits of its highest level. Each number is the maximum over several \
    ranks, at the beginning, in the middle and at the end. If a rank has too many steps to compile \
    them, the numbers are those of a law over the number n of ranks, and about right.";
    with_collective(Command::new("resources").about(about).long_about(long), 1 << 20)
}

pub(super) fn run(matches: &ArgMatches) -> Result<String, String> {
    let call = offloaded(matches, Scheme::Tank)?.call;
    let head = ["scheme", "counters", "tanks", "slots", "thresholds", "bits"].map(str::to_owned);
    let mut rows = vec![head];
    let mut notes = String::new();
    let mut rounds = None;
    for scheme in Scheme::ALL {
        let name = scheme.name();
        let (it, laws) = resources::largest(&offloaded(matches, scheme)?)?;
        if let Some(laws) = laws {
            notes += &format!("law of {name}: {laws}\n");
            rounds = Some(laws.rounds.at(call.ranks).ceil() as u32);
        }
        let numbers = [it.counters, it.tanks, it.slots, it.levels, it.bits];
        let [counters, tanks, slots, levels, bits] = numbers.map(|number| number.to_string());
        rows.push([name.to_owned(), counters, tanks, slots, levels, bits]);
    }
    if let Err(why) = call.with_schedules(|_, _| Ok(())) {
        notes += &format!("{why}: the numbers are what its laws give\n");
    }
    let rounds = rounds.map_or_else(|| resources::rounds(&call), Ok)?;
    Ok(format!("{}\n{notes}{}", table::text(&rows), rounds_text(MessageRounds(rounds))))
}

fn rounds_text(rounds: MessageRounds) -> String {
    format!(
        "{} rounds of messages: as published, R = {} of one tank, {} counters prematched\n",
        rounds.0,
        rounds.of_tank(),
        rounds.prematched()
    )
}
