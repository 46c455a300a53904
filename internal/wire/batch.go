package wire

import "strconv"

// MaxBatch is how many messages a batch may hold.
const MaxBatch = 256

// IsBatch says whether body is a JSON array, as far as its first byte tells.
func IsBatch(body []byte) bool {
	for _, c := range body {
		if !isSpace(c) {
			return c == '['
		}
	}
	return false
}

// ParseBatch parses a batch and judges its messages one by one: errs[i] is what
// Parse said to messages[i], nil if it is good. The error is an *Error that
// holds for the whole: body is no JSON, or no batch, or one that is empty or
// longer than MaxBatch.
func ParseBatch(body []byte) (messages []Message, errs []error, err error) {
	var s scanner
	s.reset(body)
	s.allowDuplicates = true // a duplicate key is the fault of its message alone
	s.skipSpace()
	s.scanValue(0)
	s.expectEnd()
	if s.err != nil {
		return nil, nil, s.err
	}
	if !IsBatch(body) {
		return nil, nil, newInvalidRequest("not a batch: it must be an array")
	}
	n := 0
	for range Elements(body) {
		if n++; n > MaxBatch {
			return nil, nil, newInvalidRequest("the batch holds more than " + strconv.Itoa(MaxBatch) + " messages; send fewer at a time")
		}
	}
	if n == 0 {
		return nil, nil, newInvalidRequest("the batch is empty")
	}
	messages, errs = make([]Message, n), make([]error, n)
	i := 0
	for raw := range Elements(body) {
		errs[i] = messages[i].Parse(raw)
		i++
	}
	return messages, errs, nil
}
