#!/usr/bin/env bash
# Downloads the pinned lock libraries of pom.xml into the folder lib beside this script, compiles the worker into a jar
# there, and archives the classes that it loads, so that it starts faster.
set -euo pipefail
cd "$(dirname "$0")"
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib
javac -d target -cp 'lib/*' Worker.java
jar --create --file lib/worker.jar -C target .
cd ../../../.. # a JVM uses the archive only if it finds the jars by the same paths, and in the same order
lib=scenarios/live/workers/java-locks/lib
export LC_ALL=C # in virtual time, files are sorted by the bytes of their names
jars=$(printf '%s:' $lib/*.jar)
FENCEPOST_LOCK='{locks:job}:timeout' FENCEPOST_TTL_MS=8000 FENCEPOST_REDIS_1=redis://:none@127.0.0.1:1 \
	FENCEPOST_ZOOKEEPER=127.0.0.1:1 java -XX:+UseSerialGC -XX:ArchiveClassesAtExit=$lib/worker.jsa -cp "${jars%:}" Worker
