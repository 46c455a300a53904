// Package builtin is the backend for tools inside the binary. It is the last step of
// a request: gateway -> guard -> catalog -> builtin. The catalog asks a Server what
// it offers, and passes it operations that the guard has let through. builtin itself
// knows nothing about endpoints, protocol eras, sessions or permissions. Packages
// demo, dashboard and ocr below it are servers; app attaches them.
//
// A Server is the registry of its tools, resources, templates and prompts. Their
// metadata is known from the moment they are added; the handler of a tool may be
// built later, at its first call. Items may be added and removed while calls run.
//
//	s, err := builtin.New("weather", "Weather", builtin.Options{Logger: log})
//	err = builtin.AddTool(s, builtin.Tool{Name: "forecast", Description: "…"},
//		func(ctx context.Context, call *builtin.Call, in Place) (Forecast, error) { … })
//
// # How a handler answers
//
// What a handler returns decides what the caller sees:
//
//   - A value: a result. A string is one text block; a Result is taken as it
//     is; any other type must encode as a JSON object, which becomes the
//     structured content and, as text, a content block.
//   - A *NeedInput (in place of an error): the call pauses until the client
//     has answered, and the handler runs again from its start. Elicit and
//     Call.Ask return these.
//   - A *junctor.Error: a protocol error, for handlers that want to refuse the
//     request. The codes unreachable, upstream, timeout and canceled say that
//     the work was tried: they are treated like any other error.
//   - The context's own error after the context has ended: timeout or canceled.
//   - Any other error: for a tool, a result with isError and the error's text,
//     so that a model can read it and try again; for a resource, prompt or
//     completion, an internal error. The text reaches the caller, so it must
//     hold nothing secret.
//
// A panic ends only its own call, and is logged with its stack.
//
// # Where to begin reading
//
// server.go has the registry, dispatch.go the way of a call, and tool.go,
// resource.go, template.go and prompt.go the items. input.go, elicit.go and
// capability.go are about questions to the client; result.go and codec.go write
// results.
package builtin
