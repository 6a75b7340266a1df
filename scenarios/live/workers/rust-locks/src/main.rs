//! A client of Fencepost for the Redis locks of Rust: rust-locks LOCK, where LOCK is a name in `lock` below. The lock guards a read and a
//! write of the protected resource, and the client writes only as long as the lock is valid.
use redis::{Client, Connection, FromRedisValue, RedisResult, cmd};
use rslock::{Lock, LockError, LockManager};
use std::env;
use std::time::{Duration, Instant};
use tokio::time::sleep;

fn told(name: &str) -> String {
    env::var(format!("FENCEPOST_{name}")).expect(name)
}

fn ms(name: &str) -> Duration {
    Duration::from_millis(told(&format!("{name}_MS")).parse().expect(name))
}

fn ask<T: FromRedisValue>(at: &mut Connection, words: &[&str]) -> RedisResult<T> {
    cmd(words[0]).arg(&words[1..]).query(at)
}

/// Takes the lock. `rslock` waits until it has the lock; `rslock-tries` gives up after three tries.
async fn lock(manager: &LockManager, name: &str, kind: &str) -> Result<Lock, LockError> {
    match kind {
        "rslock" => Ok(manager.acquire(name.as_bytes(), ms("TTL")).await?.lock),
        "rslock-tries" => manager.lock(name.as_bytes(), ms("TTL")).await,
        _ => panic!("there is no lock {kind}"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> RedisResult<()> {
    let servers: Vec<String> = (1..).map_while(|n| env::var(format!("FENCEPOST_REDIS_{n}")).ok()).collect();
    let (manager, kind) = (LockManager::new(servers), env::args().nth(1).expect("the name of a lock"));
    let mut resource = Client::open(told("RESOURCE"))?.get_connection()?;
    for n in 0..told("CYCLES").parse().expect("CYCLES") {
        section(n, &manager, &kind, &mut resource).await?;
    }
    Ok(())
}

async fn section(n: u32, manager: &LockManager, kind: &str, resource: &mut Connection) -> RedisResult<()> {
    let name = told("LOCK");
    let held = loop {
        ask::<()>(resource, &["FENCEPOST", "ACQUIRING", &name])?;
        match lock(manager, &name, kind).await {
            Ok(held) => break held,
            Err(_) => ask::<()>(resource, &["FENCEPOST", "FAILED", &name])?,
        }
        sleep(Duration::from_millis(100)).await;
    };
    let until = Instant::now() + Duration::from_millis(held.validity_time as u64);
    let owner: String = held.val.iter().map(|b| format!("{b:02x}")).collect();
    ask::<()>(resource, &["FENCEPOST", "ACQUIRED", &name, &owner, "VALIDITY", &held.validity_time.to_string()])?;
    let value: Option<String> = ask(resource, &["READ", &name])?;
    sleep(ms("COMPUTE")).await;
    if Instant::now() < until {
        let text = format!("{}.{n} after {}", told("CLIENT"), value.unwrap_or_default());
        ask::<i64>(resource, &["WRITE", &name, &text[..text.len().min(60)]])?;
    }
    sleep(ms("HOLD")).await;
    ask::<()>(resource, &["FENCEPOST", "RELEASING", &name, &owner])?;
    held.release().await;
    ask(resource, &["FENCEPOST", "RELEASED", &name, &owner])
}
