//! A client of `fencepost live`: a lock on one Redis server, as the documentation of Redis describes it, with redis-rs, guards a read
//! and a write of the protected resource.
use redis::{cmd, Client, Connection, FromRedisValue, RedisResult, Script};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::{env, thread::sleep, time::Duration};

const RELEASE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

fn told(name: &str) -> String {
    env::var(format!("FENCEPOST_{name}")).expect(name)
}

fn ms(name: &str) -> u64 {
    told(&format!("{name}_MS")).parse().expect(name)
}

fn ask<T: FromRedisValue>(at: &mut Connection, words: &[&str]) -> RedisResult<T> {
    cmd(words[0]).arg(&words[1..]).query(at)
}

fn main() -> RedisResult<()> {
    let (name, ttl) = (told("LOCK"), ms("TTL").to_string());
    let mut server = Client::open(told("REDIS_1"))?.get_connection()?;
    let mut resource = Client::open(told("RESOURCE"))?.get_connection()?;
    for n in 0..told("CYCLES").parse().expect("CYCLES") {
        section(n, &name, &ttl, &mut server, &mut resource)?;
    }
    Ok(())
}

fn section(n: u32, name: &str, ttl: &str, server: &mut Connection, resource: &mut Connection) -> RedisResult<()> {
    let held = format!("{:016x}", RandomState::new().build_hasher().finish());
    let _: () = ask(resource, &["FENCEPOST", "ACQUIRING", name])?;
    while ask::<Option<String>>(server, &["SET", name, &held, "NX", "PX", ttl])?.is_none() {
        sleep(Duration::from_millis(50));
    }
    let _: () = ask(resource, &["FENCEPOST", "ACQUIRED", name, &held])?;
    let value: Option<String> = ask(resource, &["READ", name])?;
    sleep(Duration::from_millis(ms("COMPUTE")));
    let text = format!("{}.{n} after {}", told("CLIENT"), value.unwrap_or_default());
    let _: i64 = ask(resource, &["WRITE", name, &text[..text.len().min(60)]])?;
    sleep(Duration::from_millis(ms("HOLD")));
    let _: () = ask(resource, &["FENCEPOST", "RELEASING", name, &held])?;
    match Script::new(RELEASE).key(name).arg(&held).invoke::<i64>(server)? {
        1 => ask(resource, &["FENCEPOST", "RELEASED", name, &held]),
        _ => ask(resource, &["FENCEPOST", "RELEASED", name, &held, "REFUSED"]),
    }
}
