"""ZooKeeperDistributedLock as the documents print it, as a client of `fencepost live`: the addresses and the reports are added.

With the argument "default" it waits as long for the lock as acquire does by default, 30 s, and not 10 s as in the printed
example. With "listener" its connection has the documents' connection_listener, as printed.
"""
import os
import sys
import time

import redis

# As printed, from here …
from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock
import logging

logging.basicConfig(level=logging.INFO)


class ZooKeeperDistributedLock:
    """ZooKeeperベースの分散ロック(Kazooライブラリ活用)"""

    def __init__(self, hosts: str, lock_path: str):
        self.zk = KazooClient(hosts=hosts)
        self.zk.start()
        self.lock = Lock(self.zk, lock_path)
        self.lock_path = lock_path

    def acquire(self, timeout: float = 30.0) -> bool:
        """ロック獲得。timeout秒以内に獲得できなければFalseを返却"""
        try:
            return self.lock.acquire(timeout=timeout)
        except Exception as e:
            logging.error(f"ロック獲得失敗: {e}")
            return False

    def release(self) -> None:
        """ロック解放"""
        try:
            self.lock.release()
        except Exception as e:
            logging.error(f"ロック解放失敗: {e}")

    def get_fencing_token(self) -> int:
        """zxidをFencing Tokenとして活用"""
        data, stat = self.zk.get(self.lock_path)
        return stat.czxid  # 作成時トランザクションID(単調増加)

    def close(self) -> None:
        self.zk.stop()
        self.zk.close()


from kazoo.client import KazooState


def connection_listener(state):
    """ZooKeeper接続状態モニタリング"""
    if state == KazooState.SUSPENDED:
        # 接続一時中断:進行中の作業を一時停止
        logging.warning("ZK接続中断 - 作業を一時停止")
        pause_current_operations()
    elif state == KazooState.LOST:
        # セッション期限切れ:ロック喪失確定、作業即座に中断
        logging.error("ZKセッション期限切れ - ロック喪失、作業中断")
        abort_current_operations()
    elif state == KazooState.CONNECTED:
        # 再接続成功:ロック再獲得を試行
        logging.info("ZK再接続 - ロック再獲得を試行")
        reacquire_lock()
# … to here.


def found(name):
    return os.environ["FENCEPOST_" + name]


name = found("LOCK")
resource = redis.Redis.from_url(found("RESOURCE"))


def report(*words):
    resource.execute_command("FENCEPOST", *words)


zk_lock = ZooKeeperDistributedLock(hosts=found("ZOOKEEPER"), lock_path="/locks/" + name)
if "listener" in sys.argv:
    zk_lock.zk.add_listener(connection_listener)
for n in range(int(found("CYCLES"))):
    report("ACQUIRING", name)
    if not (zk_lock.acquire() if "default" in sys.argv else zk_lock.acquire(timeout=10.0)):
        report("FAILED", name)
        continue
    attempt = zk_lock.lock.node
    try:
        fencing_token = zk_lock.get_fencing_token()
        report("ACQUIRED", name, attempt, "TOKEN", fencing_token)
        value = resource.execute_command("READ", name, "TOKEN", fencing_token)
        resource.execute_command("WRITE", name, f"{attempt[:8]} after {value.decode()}"[:60], "TOKEN", fencing_token)
        time.sleep(int(found("HOLD_MS")) / 1000)
    finally:
        report("RELEASING", name, attempt)
        zk_lock.release()
        report("RELEASED", name, attempt)
zk_lock.close()
