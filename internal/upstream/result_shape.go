package upstream

import (
	"strconv"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// checkShape says in which place a server's result is not what MCP has there; ""
// where it fits. It looks at the members that clients rely on. Members that it does
// not know, and content of kinds that are still to come, pass.
func checkShape(kind junctor.Kind, body []byte) string {
	switch kind {
	case junctor.KindTool:
		return checkToolResult(body)
	case junctor.KindResource:
		return checkEach(body, "contents", checkContents)
	case junctor.KindPrompt:
		return checkEach(body, "messages", checkMessage)
	case junctor.KindCompletion:
		return checkEach(wire.Get(body, "completion"), "values", wantString)
	default:
		return ""
	}
}

// listMember is the member of a result that holds a list; "" where there is none.
func listMember(kind junctor.Kind) string {
	switch kind {
	case junctor.KindTool:
		return "content"
	case junctor.KindResource:
		return "contents"
	case junctor.KindPrompt:
		return "messages"
	default:
		return ""
	}
}

func checkToolResult(body []byte) string {
	if flag := wire.Get(body, "isError"); flag != nil && string(flag) != "true" && string(flag) != "false" {
		return "isError is not true or false"
	}
	if wire.Get(body, "content") == nil {
		// Older servers give one or the other; what is neither is no result.
		if wire.Get(body, "structuredContent") == nil && wire.Get(body, "toolResult") == nil {
			return "it has no content"
		}
		return ""
	}
	return checkEach(body, "content", checkBlock)
}

// checkEach holds the elements of a list, which must be there, to a check. Null is
// what some servers write for an empty one; clients are given the empty one.
func checkEach(body []byte, key string, check func(element []byte, at string) string) string {
	list := wire.Get(body, key)
	if wire.IsNull(list) {
		return ""
	}
	if len(list) == 0 || list[0] != '[' {
		return key + " is not a list"
	}
	i := 0
	for element := range wire.Elements(list) {
		if why := check(element, key+"["+strconv.Itoa(i)+"]"); why != "" {
			return why
		}
		i++
	}
	return ""
}

// checkBlock holds one piece of content to its kind.
func checkBlock(block []byte, at string) string {
	if len(block) == 0 || block[0] != '{' {
		return at + " is not an object"
	}
	kind, ok := wire.String(wire.Get(block, "type"))
	if !ok {
		return at + ".type is not a string"
	}
	switch kind {
	case "text":
		return wantString(wire.Get(block, "text"), at+".text")
	case "image", "audio":
		if why := wantString(wire.Get(block, "data"), at+".data"); why != "" {
			return why
		}
		return wantString(wire.Get(block, "mimeType"), at+".mimeType")
	case "resource_link":
		return wantString(wire.Get(block, "uri"), at+".uri")
	case "resource":
		return checkContents(wire.Get(block, "resource"), at+".resource")
	}
	return ""
}

func checkContents(contents []byte, at string) string {
	if why := wantString(wire.Get(contents, "uri"), at+".uri"); why != "" {
		return why
	}
	for _, key := range []string{"text", "blob"} {
		if value := wire.Get(contents, key); value != nil && !isString(value) {
			return at + "." + key + " is not a string"
		}
	}
	return ""
}

func checkMessage(message []byte, at string) string {
	if role, _ := wire.String(wire.Get(message, "role")); role != "user" && role != "assistant" {
		return at + ".role is not user or assistant"
	}
	return checkBlock(wire.Get(message, "content"), at+".content")
}

func isString(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

func wantString(value []byte, at string) string {
	if isString(value) {
		return ""
	}
	return at + " is not a string"
}
