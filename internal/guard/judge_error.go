package guard

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// removedText takes the place of the message of an error if rules leave none.
const removedText = "a rule removed the error's text"

// judgeError lets the policy judge an error that the server answered with, and returns
// what the rules leave of it. Errors of this instance are no results.
func (g *Guard) judgeError(ctx context.Context, op *Op, item *catalog.Item, call *junctor.Call, err error) error {
	if g.options.Policy == nil {
		return err
	}
	shown := junctor.AsError(err)
	switch shown.Code {
	case junctor.CodeUpstream, junctor.CodeNotFound, junctor.CodeInvalid:
	default:
		return err
	}
	own, ok := errors.AsType[*wire.Error](err)
	if !ok {
		own = &wire.Error{Message: shown.Message}
	}
	// The message for callers ends with the server's own, unless that is too long for it.
	prefix, repeats := strings.CutSuffix(shown.Message, own.Message)
	texts := []string{own.Message}
	if !repeats {
		texts = append(texts, shown.Message)
	}
	judged, data, changed, refused := g.judgeErrorTexts(ctx, op, item, call, texts, own.Data)
	switch {
	case refused != nil:
		return refused
	case !changed:
		return err
	}
	out := *shown
	if out.Message = judged[len(judged)-1]; repeats {
		out.Message = prefix + judged[0]
	}
	if ok {
		out.Cause = &wire.Error{Code: own.Code, Message: judged[0], Data: data}
	}
	return &out
}

// judgeTaskError is judgeError for the error that a task ended with.
func (g *Guard) judgeTaskError(ctx context.Context, op *Op, item *catalog.Item, call *junctor.Call, res *catalog.Result) error {
	own := wire.Get(res.Body, "error")
	message, ok := wire.String(wire.Get(own, "message"))
	if !ok {
		return nil
	}
	judged, data, changed, err := g.judgeErrorTexts(ctx, op, item, call, []string{message}, wire.Get(own, "data"))
	switch {
	case err != nil:
		*res = catalog.Result{}
		return err
	case !changed:
		return nil
	}
	add := []wire.Member{{Key: "message", Value: wire.AppendString(nil, judged[0])}}
	if data != nil {
		add = append(add, wire.Member{Key: "data", Value: data})
	}
	own = wire.AppendObject(nil, own, []string{"data"}, add...)
	res.Body = wire.AppendObject(nil, res.Body, nil, wire.Member{Key: "error", Value: own})
	return nil
}

// judgeErrorTexts has the texts and the data of an error judged. Rules see them in the
// form of a tool's result that says that it failed, for every kind of operation.
func (g *Guard) judgeErrorTexts(ctx context.Context, op *Op, item *catalog.Item, call *junctor.Call, texts []string, data []byte) (left []string, leftData []byte, changed bool, err error) {
	content := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			content = append(content, ',')
		}
		content = append(content, `{"type":"text","text":`...)
		content = append(wire.AppendString(content, text), '}')
	}
	content = append(content, ']')
	add := []wire.Member{{Key: "content", Value: content}, {Key: "isError", Value: []byte("true")}}
	if data != nil {
		add = append(add, wire.Member{Key: "_meta", Value: wire.AppendObject(nil, nil, nil, wire.Member{Key: "data", Value: data})})
	}
	body := wire.AppendObject(nil, nil, nil, add...)
	judged, err := g.options.Policy.JudgeResult(ctx, op, item, call, slices.Clone(body))
	switch {
	case err != nil:
		return nil, nil, false, err
	case string(judged) == string(body):
		return texts, data, false, nil
	}
	left = make([]string, 0, len(texts))
	for part := range wire.Elements(wire.Get(judged, "content")) {
		text, _ := wire.String(wire.Get(part, "text"))
		left = append(left, cmp.Or(text, removedText))
	}
	for len(left) < len(texts) {
		left = append(left, removedText)
	}
	return left[:len(texts)], wire.Get(wire.Get(judged, "_meta"), "data"), true, nil
}
