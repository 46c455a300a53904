package a2a

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// members are the names of both versions' requests. The library takes them
// however they are written, so that two readers could read a request in two ways.
const members = `message messageId contextId taskId role parts text raw url data filename mediaType metadata extensions referenceTaskIds
	configuration acceptedOutputModes returnImmediately historyLength taskPushNotificationConfig tenant id authentication scheme
	credentials token status pageSize pageToken statusTimestampAfter includeArtifacts kind file bytes uri name mimeType blocking
	pushNotificationConfig pushNotificationConfigId schemes`

// free are those whose values are nobody's business but the sender's.
const free = "metadata data"

// spelled refuses a member that is written like one of the protocol's but for
// upper and lower case. What belongs to nobody is let through, as the protocol
// wants.
func spelled(object []byte, where string) error {
	return spelledLike(bytes.TrimSpace(object), where, strings.Fields(members))
}

func spelledLike(value []byte, where string, known []string) error {
	if len(value) == 0 {
		return nil
	}
	switch value[0] {
	case '{':
		for key, inner := range wire.Members(value) {
			name := wire.Unescape(key)
			// Go's own reader folds more than upper and lower case of ASCII.
			if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 && known[i] != name {
				return problem(a2a.ErrInvalidParams, fmt.Sprintf("%q in %s: it is written %q", name, where, known[i]))
			}
			if slices.Contains(strings.Fields(free), name) {
				continue
			}
			if err := spelledLike(inner, where+"."+name, known); err != nil {
				return err
			}
		}
	case '[':
		i := 0
		for inner := range wire.Elements(value) {
			if err := spelledLike(inner, fmt.Sprintf("%s[%d]", where, i), known); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}
