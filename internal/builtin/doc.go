// Package builtin is the backend for tools that live inside the binary. It is
// the last stop of a request: gateway -> guard -> catalog -> builtin. The
// catalog asks a Server what it offers and hands it operations that the guard
// has let through; builtin itself knows nothing of doors, eras, sessions or
// rights.
//
// A Server is the one source of truth for its tools, resources, templates and
// prompts. Their metadata is known from the moment they are added; a tool's
// implementation may be made later, when somebody first calls it. Everything
// may be added and removed while calls run.
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
//     Call.Ask make these.
//   - A *junctor.Error: a protocol error, for handlers that want to refuse the
//     request. The codes unreachable, upstream, timeout and canceled say that
//     the work was tried: they count as any other error.
//   - The context's own error after the context has ended: timeout or canceled.
//   - Any other error: for a tool, a result with isError and the error's text,
//     so that a model can read it and try again; for a resource, prompt or
//     completion, an internal error. The text reaches the caller, so it must
//     hold nothing secret.
//
// A panic costs the one call and is logged with its stack.
package builtin
