package httpfast

import "strings"

// RequestCorpus lists byte streams that parsers are known to read differently, and
// plain ones beside them: the seeds of every fuzz target for requests. Each is what
// one client sends over one connection.
func RequestCorpus() []string {
	const next = "POST /next HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nn"
	const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	post := func(lines ...string) string {
		return "POST /mcp HTTP/1.1\r\nHost: x\r\n" + strings.Join(append(lines, "", ""), "\r\n")
	}
	all := []string{
		// plain requests and pipelining
		"POST /mcp HTTP/1.1\r\nHost: x:1\r\nContent-Length: 3\r\nAccept: a, b\r\nmcp-session-ID:\t z \r\n\r\nabcPOST",
		"POST /a?b=c%20d HTTP/1.1\r\nHost: [::1]:8\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n" + next,
		"POST //a#b HTTP/1.1\r\nhost: x\r\nCONTENT-LENGTH: 1\r\nX: 1\r\nX: 2\r\nX:\r\n\r\na",
		next + next + next,
		next + "\r\n\r\n" + next,
		next + "\n\n\n\n\n" + next,
		next + smuggled + next,
		post("Content-Length: 3", "Connection: keep-alive") + "abc" + next,
		post("Content-Length: 3", "Connection: close, keep-alive") + "abc" + next,
		post("Content-Length: 3", "Connection: close", "Connection: keep-alive") + "abc" + next,
		post("Content-Length: 3", "Connection: upgrade", "Upgrade: h2c") + "abc" + next,
		post("Content-Length: 30") + "short",
		// duplicate and conflicting lengths
		post("Content-Length: 3", "Content-Length: 3") + "abc" + next,
		post("Content-Length: 3", "Content-Length: 4") + "abcd" + next,
		post("Content-Length: 4", "content-length: 3") + "abcd" + next,
		post("Content-Length: 3, 3") + "abc" + next,
		post("Content-Length: 3,4") + "abcd" + next,
		post("Content-Length: 03") + "abc" + next,
		post("Content-Length: +3") + "abc" + next,
		post("Content-Length: -3") + "abc" + next,
		post("Content-Length: 0x3") + "abc" + next,
		post("Content-Length: 3 ") + "abc" + next,
		post("Content-Length: 3;") + "abc" + next,
		post("Content-Length: 3.0") + "abc" + next,
		post("Content-Length:") + next,
		post("Content-Length: 999999999999999999") + "abc",
		post("Content-Length: 9223372036854775808") + "abc",
		post("Content-Length: 99999999999999999999") + "abc",
		post("Content_Length: 3") + "abc" + next,
		post() + next,
		// length and transfer coding
		post("Content-Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n" + smuggled,
		post("Transfer-Encoding: chunked", "Content-Length: 5") + "0\r\n\r\n" + smuggled,
		post("Transfer-Encoding: chunked", "Content-Length: 0") + "0\r\n\r\n" + smuggled,
		post("Content-Length: 5", "Transfer-Encoding: identity") + "hello" + next,
		// transfer codings
		post("Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: Chunked") + "3\r\nabc\r\n0\r\n\r\n" + next,
		post("transfer-encoding:chunked") + "3\r\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: \tchunked \t") + "0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked, chunked") + "0\r\n\r\n" + next,
		post("Transfer-Encoding: gzip, chunked") + "0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked, identity") + "0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "0\r\n\r\n" + next,
		post("Transfer-Encoding: xchunked", "Content-Length: 3") + "abc" + next,
		post("Transfer-Encoding: \"chunked\"") + "0\r\n\r\n" + next,
		post("Transfer-Encoding:", "Content-Length: 3") + "abc" + next,
		post("Transfer-Encoding: \x0bchunked", "Content-Length: 3") + "abc" + next,
		post("Transfer-Encoding: chunked\x00", "Content-Length: 3") + "abc" + next,
		post("Transfer_Encoding: chunked", "Content-Length: 3") + "abc" + next,
		post("Tran\u017ffer-Encoding: chunked", "Content-Length: 3") + "abc" + next,
		// folded lines
		post("Content-Length:", " 3") + "abc" + next,
		post("Content-Length: 3", "\t0") + "abc" + next,
		post("X: a", " Content-Length: 7", "Content-Length: 3") + "abc" + next,
		post("X: a", " Transfer-Encoding: chunked", "Content-Length: 3") + "abc" + next,
		post("Transfer-Encoding:", " chunked") + "0\r\n\r\n" + next,
		"POST /mcp HTTP/1.1\r\n Host: x\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" + next,
		// bare CR and LF
		strings.ReplaceAll(post("Content-Length: 3"), "\r\n", "\n") + "abc" + next,
		"POST /mcp HTTP/1.1\r\nHost: x\nContent-Length: 3\r\n\r\nabc" + next,
		"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\nContent-Length: 2\r\n\r\nab" + next,
		"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\nabc" + next,
		"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\r\n\r\nabc" + next,
		post("X: a\rTransfer-Encoding: chunked", "Content-Length: 3") + "abc" + next,
		post("X: a\nTransfer-Encoding: chunked", "Content-Length: 3") + "abc" + next,
		"POST /mcp HTTP/1.1\rHost: x\rContent-Length: 3\r\rabc",
		// whitespace and odd bytes
		post("Content-Length : 3") + "abc" + next,
		post("Content-Length\t: 3") + "abc" + next,
		post(" Content-Length: 3") + "abc" + next,
		post("Content-Length:\x0b3") + "abc" + next,
		post("Content-Length: 3\x00") + "abc" + next,
		post("X\x00: a", "Content-Length: 3") + "abc" + next,
		post("X: a\x00b", "Content-Length: 3") + "abc" + next,
		post("X: \x80\xff", "Content-Length: 3") + "abc" + next,
		post(": a", "Content-Length: 3") + "abc" + next,
		post("no colon", "Content-Length: 3") + "abc" + next,
		post("X: \x7f", "Content-Length: 3") + "abc" + next,
		// request lines, targets and hosts
		"POST http://y/mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na" + next,
		"POST mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"POST * HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"POST //y/mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na" + next,
		"POST /%zz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"POST /a b HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"POST  /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"POST /mcp  HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"POST\t/mcp\tHTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"POST /mcp HTTP/1.1 \r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"post /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na" + next,
		"POST /mcp http/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"POST /mcp HTTP/1.10\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"POST /mcp HTTP/2.0\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"POST /mcp\r\n\r\n",
		"\r\n" + next,
		"POST /mcp HTTP/1.1\r\nContent-Length: 1\r\n\r\na" + next,
		"POST /mcp HTTP/1.1\r\nHost:\r\nContent-Length: 1\r\n\r\na" + next,
		"POST /mcp HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 1\r\n\r\na" + next,
		"POST /mcp HTTP/1.1\r\nHost: a b\r\nContent-Length: 1\r\n\r\na",
		"POST /mcp HTTP/1.1\r\nHost: user@x\r\nContent-Length: 1\r\n\r\na" + next,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		// HTTP/1.0
		"POST /mcp HTTP/1.0\r\nContent-Length: 1\r\n\r\na" + next,
		"POST /mcp HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na" + next,
		"POST /mcp HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		// chunks and trailers
		post("Transfer-Encoding: chunked") + "3;a=b\r\nabc\r\n0;c\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "3;a=\"\r\n\"\r\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "3;\n4\r\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "3 \r\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "3\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "3\r\nabc\n0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "0x3\r\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "+3\r\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "-3\r\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "10000000000000003\r\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "2\r\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "3\r\nabc\r\n00\r\n" + next,
		post("Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\n" + next,
		post("Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\nX: y\n\r\n" + next,
		post("Transfer-Encoding: chunked") + "0000000000000003\r\nabc\r\n0\r\n\r\n" + next,
		post("Transfer-Encoding: chunked", "Trailer: X") + "0\r\nX: y\r\n\r\n" + next,
		// fields that change other fields or the exchange
		post("Content-Length: 3", "Pragma: no-cache") + "abc" + next,
		post("Content-Length: 3", "Expect: 100-continue") + "abc" + next,
		post("Content-Length: 3", "Trailer: Content-Length") + "abc" + next,
		post("Content-Length: 3", "Te: trailers") + "abc" + next,
		post("Content-Length: 3", "Keep-Alive: timeout=0", "Proxy-Connection: close") + "abc" + next,
	}
	return all
}

// OversizedRequests have heads above the limit of the tests' servers, 32 KiB.
func OversizedRequests() []string {
	return []string{
		"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nX: " + strings.Repeat("x", 60<<10) + "\r\n\r\na",
		"POST /" + strings.Repeat("x", 60<<10) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
		"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n" + strings.Repeat("X: y\r\n", 10<<10) + "\r\na",
	}
}

// ResponseCorpus lists what a server may send in answer to one POST: the seeds of
// FuzzResponse.
func ResponseCorpus() []string {
	const ok = "HTTP/1.1 200 OK\r\n"
	const next = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"
	const chunks = "3\r\nabc\r\n0\r\n\r\n" + next
	all := []string{
		// plain responses
		ok + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		ok + "Content-Length: 2\r\n\r\n{}" + next,
		ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\nrest",
		ok + "\r\nto the end",
		"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 204 No Content\r\nConnection: close\r\nKeep-Alive: timeout=5, max=3\r\n\r\n",
		"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n" + next,
		"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
		"HTTP/1.1 307 Temporary Redirect\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 Not Found\r\n\r\nto the end",
		"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + next,
		"HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\n" + next,
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + next,
		// lengths
		ok + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc" + next,
		ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd" + next,
		ok + "Content-Length: 3, 3\r\n\r\nabc" + next,
		ok + "Content-Length: +3\r\n\r\nabc" + next,
		ok + "Content-Length: 03\r\n\r\nabc" + next,
		ok + "Content-Length: -1\r\n\r\nabc" + next,
		ok + "Content-Length:\r\n\r\nabc" + next,
		ok + "Content-Length: 999999999999999999\r\n\r\nabc",
		ok + "Content-Length: 99999999999999999999\r\n\r\nabc",
		ok + "Content-Length: 9\r\n\r\nshort",
		// length and transfer coding, codings
		ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next,
		ok + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + next,
		ok + "Transfer-Encoding: Chunked\r\n\r\n" + chunks,
		ok + "Transfer-Encoding: \tchunked \r\n\r\n" + chunks,
		ok + "Transfer-Encoding: chunked, chunked\r\n\r\n" + chunks,
		ok + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunks,
		ok + "Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc" + next,
		ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
		ok + "Transfer-Encoding:\r\nContent-Length: 3\r\n\r\nabc" + next,
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n" + chunks,
		// folds, bare CR and LF, blanks, odd bytes
		ok + "Content-Length:\r\n 3\r\n\r\nabc" + next,
		ok + "X: a\r\n Content-Length: 7\r\nContent-Length: 3\r\n\r\nabc" + next,
		ok + " X: a\r\nContent-Length: 3\r\n\r\nabc" + next,
		"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc" + next,
		ok + "Content-Length: 3\r\n\nabc" + next,
		ok + "X: a\rContent-Length: 7\r\nContent-Length: 3\r\n\r\nabc" + next,
		ok + "Content-Length : 3\r\n\r\nabc" + next,
		ok + "Content-Length: 3\x00\r\n\r\nabc" + next,
		ok + "X: a\x00b\r\nContent-Length: 3\r\n\r\nabc" + next,
		ok + "X: \x80\xff\r\nContent-Length: 3\r\n\r\nabc" + next,
		ok + ": a\r\nContent-Length: 3\r\n\r\nabc" + next,
		ok + "no colon\r\nContent-Length: 3\r\n\r\nabc" + next,
		// status lines
		"http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.10 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1\t200 OK\r\nContent-Length: 0\r\n\r\n",
		"\r\n" + next,
		// chunks
		ok + "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0;c\r\n\r\n" + next,
		ok + "Transfer-Encoding: chunked\r\n\r\n3;a=\"\r\n\"\r\nabc\r\n0\r\n\r\n" + next,
		ok + "Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n" + next,
		ok + "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n" + next,
		ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n" + next,
		ok + "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n" + next,
		ok + "Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n" + next,
		ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n" + next,
		ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n" + next,
		ok + "Trailer: X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n" + next,
		// reuse of the connection
		ok + "Connection: x, Close\r\nContent-Length: 1\r\n\r\na" + next,
		ok + "Connection: keep-alive\r\nConnection: close\r\nContent-Length: 1\r\n\r\na" + next,
		ok + "Connection: closed\r\nContent-Length: 1\r\n\r\na" + next,
		ok + "Connection: \"close\"\r\nContent-Length: 1\r\n\r\na" + next,
		"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na" + next,
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na" + next,
		ok + "Pragma: no-cache\r\nContent-Length: 1\r\n\r\na" + next,
		// oversized heads
		ok + "X: " + strings.Repeat("x", 70<<10) + "\r\nContent-Length: 1\r\n\r\na",
		ok + strings.Repeat("X: y\r\n", 20<<10) + "Content-Length: 1\r\n\r\na",
		ok + "X: " + strings.Repeat("x", 20<<10) + "\r\nContent-Length: 1\r\n\r\na" + next,
	}
	return all
}
