#!/bin/bash
export HOST=https://script.test
BASE="$HOST/v1"
TOKEN=abc
curl -H "Authorization: Bearer $TOKEN" $BASE/things
curl -X DELETE "${BASE}/things/9"
curl -X POST "$BASE/things" -d '{"name":"x"}' &
curl "$BASE/things/9/parts" -o out.json && curl -X PUT "$BASE/things/10" -d 'a=1'
for i in 1 2 3; do curl -X PATCH "$BASE/things/$i" -d 'a=1'; done
sudo curl -X DELETE $HOST/cache
