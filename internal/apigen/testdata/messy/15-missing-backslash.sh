curl -X POST https://mail.test/messages
  -H "Content-Type: application/json"
  -d '{"to":"a@b.test"}'

curl -X GET “https://mail.test/messages?limit=5”

curl -X DELETE 'https://mail.test/messages/YOUR_MESSAGE_ID'

curl -d @- https://mail.test/bulk <<EOT
{"all": ["GET /not-an-endpoint"]}
EOT

POST https://mail.test/messages/{id}/send
http PUT https://mail.test/messages/3 read:=true
wget https://mail.test/export.zip
