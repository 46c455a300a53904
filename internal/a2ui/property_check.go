package a2ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	strict "github.com/go-json-experiment/json"
)

// checkValue checks the value of a property, and returns the ids of the components
// to which it refers.
func (p *Property) checkValue(raw json.RawMessage) (refs []string, err error) {
	var v any
	if err := strict.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	switch p.Kind {
	case BoundText:
		return nil, checkBound(v, isText, "a text")
	case BoundNumber:
		return nil, checkBound(v, isNumber, "a number")
	case BoundBool:
		return nil, checkBound(v, isBool, "true or false")
	case BoundTexts:
		return nil, checkBound(v, isTextList, "a list of texts")
	case BoundValue:
		return nil, checkBound(v, isValue, "a text, a number, true, false or a list")
	case BoundDate:
		return nil, checkBound(v, isDate, "a date or a time in the form of RFC 3339")
	case BoundObject:
		return nil, checkMembers(v)
	case PlainText:
		return nil, requireValue(isText(v), "a text")
	case PlainNumber:
		return nil, requireValue(isNumber(v), "a number")
	case PlainBool:
		return nil, requireValue(isBool(v), "true or false")
	case PlainObject:
		_, ok := v.(map[string]any)
		return nil, requireValue(ok, "a JSON object")
	case Choice:
		word, _ := v.(string)
		return nil, requireValue(slices.Contains(p.Choices, word), "one of "+strings.Join(p.Choices, ", "))
	case IconName:
		return nil, checkIconName(v, p.Choices)
	case Child:
		id, ok := v.(string)
		if !ok {
			return nil, errors.New("it must be the id of a component")
		}
		return []string{id}, nil
	case Children:
		return parseChildren(v)
	case TabList:
		return parseTabs(v)
	case OptionList:
		return nil, checkEach(v, "a list of {label, value}", func(o map[string]any) error {
			if !hasOnly(o, "label", "value") || !isText(o["value"]) {
				return errors.New("an option must be {label, value}, where value is a text")
			}
			return checkBound(o["label"], isText, "a text")
		})
	case OnAction:
		return nil, checkAction(v)
	case Checks:
		return nil, checkEach(v, "a list of {condition, message}", func(o map[string]any) error {
			if !hasOnly(o, "condition", "message") || !isText(o["message"]) {
				return errors.New("a check must be {condition, message}, where message is a text")
			}
			return checkBound(o["condition"], isBool, "true or false")
		})
	}
	return nil, fmt.Errorf("unknown kind of property %d", p.Kind)
}

// requireValue returns an error that names the expected value, unless ok is true.
func requireValue(ok bool, what string) error {
	if !ok {
		return fmt.Errorf("it must be %s", what)
	}
	return nil
}

// checkBound checks a value that is a literal, a reference to the data or a
// function call:
//
//	"text"
//	{"path": "/a/b"}
//	{"call": "formatDate", "args": {"value": {"path": "/date"}}}
func checkBound(v any, literal func(any) bool, what string) error {
	o, ok := v.(map[string]any)
	switch {
	case !ok:
		return requireValue(literal(v), what+`, or bound by {"path": …}`)
	case isPath(o):
		return nil
	}
	return checkCall(o, what)
}

// isPath reports whether an object is {"path": …}.
func isPath(o map[string]any) bool { return len(o) == 1 && isText(o["path"]) }

// checkCall checks a function call, and calls in its arguments. It does not know
// the functions: they belong to the client.
func checkCall(o map[string]any, what string) error {
	if !isText(o["call"]) || !hasOnly(o, "call", "args", "returnType") {
		return fmt.Errorf(`it must be %s, {"path": …} or {"call": …, "args": {…}}`, what)
	}
	args, ok := o["args"].(map[string]any)
	if _, given := o["args"]; given && !ok {
		return errors.New("the args of a call must be a JSON object")
	}
	for _, name := range sortedKeys(args) {
		if nested, ok := args[name].(map[string]any); ok && nested["call"] != nil {
			if err := checkCall(nested, "a value"); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkMembers checks an object whose members are literals or bound.
func checkMembers(v any) error {
	o, ok := v.(map[string]any)
	if !ok {
		return errors.New("it must be a JSON object")
	}
	for _, name := range sortedKeys(o) {
		if err := checkBound(o[name], isValue, "a text, a number, true, false or a list"); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// isText reports whether a decoded value is a string.
func isText(v any) bool { _, ok := v.(string); return ok }

// isNumber reports whether a decoded value is a number.
func isNumber(v any) bool { _, ok := v.(float64); return ok }

// isBool reports whether a decoded value is a boolean.
func isBool(v any) bool { _, ok := v.(bool); return ok }

// isDate reports whether a value is a date, a time with an offset, or both,
// according to RFC 3339.
func isDate(v any) bool {
	text, _ := v.(string)
	return slices.ContainsFunc([]string{time.DateOnly, time.RFC3339, "15:04:05Z07:00"}, func(form string) bool {
		_, err := time.Parse(form, text)
		return err == nil
	})
}

// isTextList reports whether a value is a list of strings.
func isTextList(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(one any) bool { return !isText(one) })
}

// isValue reports whether a value can be shown: anything but an object or null.
func isValue(v any) bool {
	_, list := v.([]any)
	return list || isText(v) || isNumber(v) || isBool(v)
}

// hasOnly reports whether an object has no members except the named ones.
func hasOnly(o map[string]any, names ...string) bool {
	for name := range o {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// checkEach checks each object of a list. what describes the list in an error.
func checkEach(v any, what string, judge func(map[string]any) error) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("it must be %s", what)
	}
	for i, one := range list {
		o, ok := one.(map[string]any)
		if !ok {
			return fmt.Errorf("it must be %s", what)
		}
		if err := judge(o); err != nil {
			return fmt.Errorf("%d: %w", i+1, err)
		}
	}
	return nil
}

// checkIconName checks the name of an icon, a drawing or a reference to the data.
func checkIconName(v any, words []string) error {
	if o, ok := v.(map[string]any); ok {
		if len(o) == 1 && isText(o["svgPath"]) || isPath(o) {
			return nil
		}
		return errors.New(`it must be an icon's name, {"svgPath": …} or {"path": …}`)
	}
	word, _ := v.(string)
	return requireValue(slices.Contains(words, word), "the name of an icon of A2UI, such as locationOn or payment")
}

// parseChildren returns the ids of children: a list, or a template that is repeated
// for each element of a list in the data:
//
//	["a", "b"]
//	{"componentId": "row", "path": "/items"}
func parseChildren(v any) ([]string, error) {
	if o, ok := v.(map[string]any); ok {
		id, isID := o["componentId"].(string)
		if !isID || !isText(o["path"]) || len(o) != 2 {
			return nil, errors.New(`children that come from data must be {"componentId": …, "path": …}`)
		}
		return []string{id}, nil
	}
	if !isTextList(v) {
		return nil, errors.New("children must be a list of ids of components")
	}
	list, _ := v.([]any)
	ids := make([]string, 0, len(list))
	for _, one := range list {
		id, _ := one.(string)
		ids = append(ids, id)
	}
	return ids, nil
}

// parseTabs returns the ids of the children of tabs.
func parseTabs(v any) ([]string, error) {
	var ids []string
	err := checkEach(v, "a list of {title, child}", func(o map[string]any) error {
		id, ok := o["child"].(string)
		if !ok || !hasOnly(o, "title", "child") {
			return errors.New("a tab must be {title, child}, where child is the id of a component")
		}
		ids = append(ids, id)
		return checkBound(o["title"], isText, "a text")
	})
	if err == nil && len(ids) == 0 {
		err = errors.New("at least one tab is required")
	}
	return ids, err
}

// checkAction checks an action: an event for the agent, or a function call:
//
//	{"event": {"name": "confirm", "context": {"id": {"path": "/id"}}}}
//	{"functionCall": {"call": "openUrl", "args": {"url": "https://example.com"}}}
func checkAction(v any) error {
	o, _ := v.(map[string]any)
	if len(o) != 1 {
		return errors.New(`an action must be {"event": {"name": …}} or {"functionCall": …}`)
	}
	if f, ok := o["functionCall"].(map[string]any); ok {
		return checkCall(f, "a call")
	}
	e, ok := o["event"].(map[string]any)
	if name, _ := e["name"].(string); !ok || name == "" || !hasOnly(e, "name", "context") {
		return errors.New(`the event of an action must be {"name": …, "context": {…}}`)
	}
	if context, given := e["context"]; given {
		if err := checkMembers(context); err != nil {
			return fmt.Errorf("context: %w", err)
		}
	}
	return nil
}
