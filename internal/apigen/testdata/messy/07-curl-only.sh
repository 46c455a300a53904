# list the things
curl https://things.test/api/things
# one thing
curl https://things.test/api/things/9
# delete it
curl -sX DELETE https://things.test/api/things/9
curl -sSLX PUT "https://things.test/api/things/9/parts/7c9e6679-7425-40de-944b-e07fc1f90ae7" -d '{"n":1}' -H "Content-Type: application/json"
curl -X GET "https://things.test/api/things/12" | jq .name
curl -XPOST https://things.test/api/things --json '{"name":"x"}'
curl
