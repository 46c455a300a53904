package queue

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// storedAttempt is an attempt as it is stored with its job: one line of JSON.
type storedAttempt struct {
	N       int    `json:"n"`
	Begun   int64  `json:"begun"` // microseconds
	MS      int64  `json:"ms"`
	Outcome string `json:"outcome"`
	Kind    string `json:"kind,omitempty"`
	Status  int    `json:"status,omitempty"`
	Error   string `json:"error,omitempty"`
	Answer  string `json:"answer,omitempty"`
	Note    string `json:"note,omitempty"`
	Call    string `json:"call,omitempty"`
}

// encodeAttempt returns the line of the nth attempt.
func encodeAttempt(n int, a *Attempt) (string, error) {
	line, err := json.Marshal(storedAttempt{
		n, toMicros(a.StartedAt), a.DurationMS, storableText(a.Outcome), storableText(a.Kind), a.Status, storableText(a.Error), storableText(a.Answer), storableText(a.Note), storableText(a.Call),
	})
	return string(line) + "\n", err
}

// decodeAttempts reads the lines of a job, oldest first.
func decodeAttempts(lines string) ([]Attempt, error) {
	list := []Attempt{}
	for d := json.NewDecoder(strings.NewReader(lines)); ; {
		var t storedAttempt
		switch err := d.Decode(&t); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, err
		}
		list = append(list, Attempt{
			Number: t.N, StartedAt: fromMicros(t.Begun), DurationMS: t.MS, Outcome: t.Outcome, Kind: t.Kind, Status: t.Status, Error: t.Error, Answer: t.Answer, Note: t.Note, Call: t.Call,
		})
	}
}
