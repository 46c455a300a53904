curl https://v.test/api/2/items
curl https://v.test/api/v3/items/5
curl https://v.test/2010-04-01/Accounts/AC00000000000000000000000000000001/Calls
curl "https://v.test/api/v3/items/6?expand=true"
curl --request PURGE https://v.test/cache
curl -I https://v.test/api/v3/items
curl https://v.test/a https://v.test/b
