#!/bin/sh
# A browser for the tests: the system's Chromium, else Debian's if we may install it, else
# Playwright's own. Without any, the browser tests skip with a loud line.
bin=${1:-.venv/bin}
for name in chromium chromium-browser google-chrome; do
    command -v "$name" > /dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null 2>&1; then
    apt-get update -qq > /dev/null 2>&1
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium > /dev/null 2>&1 && exit 0
fi
"$bin/playwright" install chromium > /dev/null 2>&1 && exit 0
echo "NO BROWSER FOUND: the browser tests will be skipped. Install chromium to run them." >&2
exit 0
