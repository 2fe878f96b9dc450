//! Bytes through a TCP connection over the loopback interface: one process sends, one receives and counts.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::board::Slot;
use super::demand::Demand;
use super::job::{Job, LoadError};
use super::pace::{piece, Pace};

/// The largest piece to send at once, bytes.
const PIECE: usize = 64 << 10;

pub fn jobs(demand: &Demand) -> Result<Vec<Job>, LoadError> {
    let Some(rate) = demand.network_rate else { return Ok(Vec::new()) };
    let (sender, receiver) = pair().map_err(|error| {
        LoadError::Machine(format!(
            "No TCP connection over the loopback interface can be made: {error}. Is it up?"
        ))
    })?;
    let job = |asked, work| Job { kind: "network", asked, limit_bytes: None, work };
    Ok(vec![
        job(None, Box::new(move |slot: &Slot| send(sender, rate, slot))),
        job(Some(rate), Box::new(move |slot: &Slot| receive(receiver, slot))),
    ])
}

fn pair() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    let own = sender.local_addr()?;
    loop {
        // Another program may have found the port first.
        let (receiver, from) = listener.accept()?;
        if from == own {
            sender.set_nodelay(true)?;
            return Ok((sender, receiver));
        }
    }
}

fn send(mut stream: TcpStream, rate: f64, slot: &Slot) -> LoadError {
    let size = piece(Some(rate), PIECE, 1);
    let bytes = vec![0x5a_u8; size];
    let mut pace = Pace::new(size as f64, Some(rate));
    slot.ready();
    loop {
        pace.wait();
        if let Err(error) = stream.write_all(&bytes) {
            return LoadError::Machine(format!("The loopback connection broke: {error}."));
        }
    }
}

fn receive(mut stream: TcpStream, slot: &Slot) -> LoadError {
    let mut bytes = vec![0_u8; PIECE];
    slot.ready();
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return LoadError::Machine("The sender of the loopback connection has gone.".into()),
            Ok(count) => slot.add(count as u64),
            Err(error) => return LoadError::Machine(format!("The loopback connection broke: {error}.")),
        }
    }
}
