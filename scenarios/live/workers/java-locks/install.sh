#!/usr/bin/env bash
# Downloads the pinned lock libraries of pom.xml into the folder lib beside this script, and compiles the worker.
set -euo pipefail
cd "$(dirname "$0")"
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib
javac -d target -cp 'lib/*' Worker.java
