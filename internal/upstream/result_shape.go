package upstream

import (
	"strconv"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// checkShape returns the place at which a server's result does not fit MCP; ""
// if it fits. It checks the members that clients rely on. Unknown members, and
// content of unknown types, pass.
func checkShape(kind junctor.Kind, body []byte) string {
	switch kind {
	case junctor.KindTool:
		return checkToolResult(body)
	case junctor.KindResource:
		return checkElements(body, "contents", checkContents)
	case junctor.KindPrompt:
		return checkElements(body, "messages", checkMessage)
	case junctor.KindCompletion:
		return checkElements(wire.Get(body, "completion"), "values", checkString)
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

// checkToolResult checks the result of a tool.
func checkToolResult(body []byte) string {
	if flag := wire.Get(body, "isError"); flag != nil && string(flag) != "true" && string(flag) != "false" {
		return "isError is not a boolean"
	}
	if wire.Get(body, "content") == nil {
		// Some older servers send one of these instead of content. A body with none of
		// the three is no result.
		if wire.Get(body, "structuredContent") == nil && wire.Get(body, "toolResult") == nil {
			return "content is missing"
		}
		return ""
	}
	return checkElements(body, "content", checkContentBlock)
}

// checkElements checks each element of a list, which must exist. Null passes: some
// servers write it for an empty list, and clients
// receive the empty list.
func checkElements(body []byte, key string, check func(element []byte, at string) string) string {
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

// checkContentBlock checks one block of content by its type.
func checkContentBlock(block []byte, at string) string {
	if len(block) == 0 || block[0] != '{' {
		return at + " is not an object"
	}
	kind, ok := wire.String(wire.Get(block, "type"))
	if !ok {
		return at + ".type is not a string"
	}
	switch kind {
	case "text":
		return checkString(wire.Get(block, "text"), at+".text")
	case "image", "audio":
		if why := checkString(wire.Get(block, "data"), at+".data"); why != "" {
			return why
		}
		return checkString(wire.Get(block, "mimeType"), at+".mimeType")
	case "resource_link":
		return checkString(wire.Get(block, "uri"), at+".uri")
	case "resource":
		return checkContents(wire.Get(block, "resource"), at+".resource")
	}
	return ""
}

// checkContents checks the contents of one resource.
func checkContents(contents []byte, at string) string {
	if why := checkString(wire.Get(contents, "uri"), at+".uri"); why != "" {
		return why
	}
	for _, key := range []string{"text", "blob"} {
		if value := wire.Get(contents, key); value != nil && !isString(value) {
			return at + "." + key + " is not a string"
		}
	}
	return ""
}

// checkMessage checks one message of a prompt.
func checkMessage(message []byte, at string) string {
	if role, _ := wire.String(wire.Get(message, "role")); role != "user" && role != "assistant" {
		return at + ".role is not user or assistant"
	}
	return checkContentBlock(wire.Get(message, "content"), at+".content")
}

// isString reports whether raw JSON is a string.
func isString(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// checkString is a check for checkElements: the value must be a string.
func checkString(value []byte, at string) string {
	if isString(value) {
		return ""
	}
	return at + " is not a string"
}
