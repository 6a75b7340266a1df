"""EtcdDistributedLock as the documents print it, as a client of `fencepost live`: the addresses and the reports are added."""
import os
import time
from urllib.parse import urlsplit

import redis

# As printed, from here …
import etcd3
import threading
import logging
from typing import Optional, Tuple

logging.basicConfig(level=logging.INFO)


class EtcdDistributedLock:
    """etcd Leaseベースの分散ロック"""

    def __init__(self, host: str = "localhost", port: int = 2379,
                 ttl: int = 10):
        self.client = etcd3.client(host=host, port=port)
        self.ttl = ttl
        self.lease: Optional[etcd3.Lease] = None
        self._keepalive_thread: Optional[threading.Thread] = None
        self._stop_keepalive = threading.Event()

    def acquire(self, lock_key: str,
                timeout: float = 30.0) -> Optional[Tuple[int, int]]:
        """
        ロック獲得。成功時に(revision, lease_id)を返却。
        revisionをFencing Tokenとして使用可能。
        """
        self.lease = self.client.lease(self.ttl)
        self.lock_key = lock_key

        # トランザクションによるアトミックなロック獲得
        # キーが存在しない場合のみ作成(Compare-And-Swap)
        success, responses = self.client.transaction(
            compare=[
                self.client.transactions.create(lock_key) == 0
            ],
            success=[
                self.client.transactions.put(
                    lock_key, "locked", lease=self.lease
                )
            ],
            failure=[]
        )

        if success:
            # RevisionをFencing Tokenとして使用
            revision = responses[0].header.revision
            self._start_keepalive()
            logging.info(
                f"ロック獲得成功。revision(fencing token): {revision}"
            )
            return (revision, self.lease.id)

        logging.warning("ロック獲得失敗: すでに他のクライアントが保持中")
        self.lease.revoke()
        return None

    def _start_keepalive(self) -> None:
        """Lease自動更新スレッド開始"""
        self._stop_keepalive.clear()

        def keepalive_loop():
            while not self._stop_keepalive.is_set():
                try:
                    self.lease.refresh()
                except Exception as e:
                    logging.error(f"Lease更新失敗: {e}")
                    break
                self._stop_keepalive.wait(timeout=self.ttl / 3.0)

        self._keepalive_thread = threading.Thread(
            target=keepalive_loop, daemon=True
        )
        self._keepalive_thread.start()

    def release(self) -> None:
        """ロック解放"""
        self._stop_keepalive.set()
        if self.lease:
            try:
                self.lease.revoke()
                logging.info("ロック解放完了")
            except Exception as e:
                logging.error(f"ロック解放失敗: {e}")

    def close(self) -> None:
        self.release()
        self.client.close()
# … to here.


def found(name):
    return os.environ["FENCEPOST_" + name]


name = found("LOCK")
resource = redis.Redis.from_url(found("RESOURCE"))


def report(*words):
    resource.execute_command("FENCEPOST", *words)


member = urlsplit(found("ETCD").split(",")[0])
lock = EtcdDistributedLock(host=member.hostname, port=member.port, ttl=15)
report("ACQUIRING", name)
result = lock.acquire("locks/" + name)
if result:
    fencing_token, lease_id = result
    try:
        report("ACQUIRED", name, lease_id, "TOKEN", fencing_token)
        time.sleep(int(found("HOLD_MS")) / 1000)
    finally:
        report("RELEASING", name, lease_id)
        lock.release()
        report("RELEASED", name, lease_id)
else:
    report("FAILED", name)
