package wire

import "strconv"

// MaxBatchMessages is how many messages a batch may hold. It bounds the work that one request can
// cause.
const MaxBatchMessages = 256

// IsBatch reports whether the first byte of body that is not white space opens an array.
// It does not check the rest.
func IsBatch(body []byte) bool {
	for _, c := range body {
		if !isSpace(c) {
			return c == '['
		}
	}
	return false
}

// ParseBatch parses a batch. errs[i] is the error of Parse for messages[i], or nil. err
// is an *Error about the whole batch: body is not JSON, is no array, is empty, or is
// longer than MaxBatchMessages. The messages point into body.
func ParseBatch(body []byte) (messages []Message, errs []error, err error) {
	var s scanner
	s.reset(body)
	s.allowDuplicates = true // Parse reports a duplicate key as the fault of its message alone
	s.skipSpace()
	s.scanValue(0)
	s.expectEnd()
	if s.err != nil {
		return nil, nil, s.err
	}
	if !IsBatch(body) {
		return nil, nil, newInvalidRequest("not a batch: it must be an array")
	}
	// Count before anything is allocated: a small body can hold many elements.
	n := 0
	for range Elements(body) {
		if n++; n > MaxBatchMessages {
			return nil, nil, newInvalidRequest("the batch holds more than " + strconv.Itoa(MaxBatchMessages) + " messages; send fewer at a time")
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
