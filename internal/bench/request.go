package bench

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// outcome is what an answer turned out to be.
type outcome uint8

const (
	outcomeRight   outcome = iota
	outcomeFailed          // no answer, another status than 200, or an error
	outcomeWrong           // an answer that does not hold what was sent
	outcomeCrossed         // an answer to somebody else's call
)

// firstID has as many digits as every id that follows it, so that a request
// keeps its length and only its digits are written over.
const (
	firstID  = 1_000_000_000
	idDigits = 10
)

// request is one prepared HTTP request that is sent again and again under new
// ids. In tools/call the argument holds the id too, which makes its text
// unique.
type request struct {
	bytes        []byte
	idOffsets    []int  // where the id stands
	want         []byte // part of bytes: what the right answer holds
	runMark      []byte // what all texts of this load begin with; nil without texts
	requiredText []byte // what every right answer holds besides; nil is nothing
}

// newRequest prepares the request of one connection. run tells the texts of one
// load from those of others, so that an answer from a cache cannot pass.
func newRequest(j job, s session, run string) *request {
	id := strconv.Itoa(firstID)
	head := `{"jsonrpc":"2.0","id":` + id + `,"method":` + strconv.Quote(j.Method) + `,"params":{`
	modern := ""
	if s.version >= versionModern {
		modern = modernMeta
	}
	if j.Method == methodList {
		r := &request{bytes: buildPost(j.Endpoint, s, j.Method, "", []byte(head+modern+`}}`))}
		at := bytes.LastIndex(r.bytes, []byte(head)) + strings.Index(head, id)
		r.idOffsets = []int{at}
		r.want = r.bytes[at : at+len(id)]
		r.requiredText = fmt.Appendf(nil, `"name":%q`, j.Tool)
		return r
	}
	mark := "~" + run + "."
	text := mark + id + "~"
	if pad := j.ArgBytes - len(text); pad > 0 {
		const letters = "abcdefghijklmnopqrstuvwxyz012345"
		text += strings.Repeat(letters, pad/len(letters)+1)[:pad]
	}
	if modern != "" {
		modern += ","
	}
	params := modern + `"name":` + strconv.Quote(j.Tool) + `,"arguments":{` + strconv.Quote(j.Argument) + `:"`
	r := &request{bytes: buildPost(j.Endpoint, s, j.Method, j.Tool, []byte(head+params+text+`"}}}`)), runMark: []byte(mark)}
	body := bytes.LastIndex(r.bytes, []byte(head))
	at := body + len(head) + len(params)
	r.idOffsets = []int{body + strings.Index(head, id), at + len(mark)}
	r.want = r.bytes[at : at+len(text)]
	return r
}

// writeID writes an id over the former one.
func (r *request) writeID(id uint64) {
	var digits [20]byte
	d := strconv.AppendUint(digits[:0], id, 10)
	for _, at := range r.idOffsets {
		copy(r.bytes[at:], d)
	}
}

// judgeAnswer says what the answer is to the request as it was stamped last.
func (r *request) judgeAnswer(a answer) outcome {
	switch {
	case a.status != 200,
		bytes.Contains(a.body, []byte(`"isError":true`)),
		bytes.Contains(a.body, []byte(`"error":{`)):
		return outcomeFailed
	case bytes.Contains(a.body, r.want) && bytes.Contains(a.body, r.requiredText):
		return outcomeRight
	case r.runMark == nil || !bytes.Contains(a.body, r.runMark):
		return outcomeWrong
	case bytes.Contains(a.body, r.want[:len(r.runMark)+idDigits]):
		return outcomeWrong // our own text, but not all of it
	}
	return outcomeCrossed
}
