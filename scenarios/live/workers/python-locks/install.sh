#!/usr/bin/env bash
# Installs the pinned lock libraries of requirements.txt into the folder venv beside this script.
set -euo pipefail
cd "$(dirname "$0")"
/usr/bin/python3 -m venv venv
venv/bin/pip install --quiet --use-pep517 --requirement requirements.txt
