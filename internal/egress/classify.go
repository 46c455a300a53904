package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// classify gives an error of the transport its code and a message without the
// address that was dialled. CodeUnreachable is only for what certainly happened
// before the request was sent, so that callers know what they may try again.
func classify(ctx context.Context, host string, err error) error {
	var own *junctor.Error
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &own):
		return own
	case ctx.Err() != nil:
		return ended(ctx)
	case errors.As(err, &dns):
		return fail(junctor.CodeUnreachable, "the name of "+host+" could not be resolved", err)
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect"):
		return fail(junctor.CodeUnreachable, "no connection to "+host+" could be made", err)
	case errors.As(err, &cert), isX509(err):
		return fail(junctor.CodeUnreachable, "the certificate of "+host+" is not valid", err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch), strings.Contains(err.Error(), "TLS handshake timeout"):
		return fail(junctor.CodeUnreachable, host+" does not speak TLS", err)
	case strings.Contains(err.Error(), "server response headers exceeded"):
		return fail(junctor.CodeTooLarge, "the answer of "+host+" has headers above 64 KiB", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fail(junctor.CodeTimeout, host+" did not answer in time", err)
	case errors.Is(err, context.Canceled):
		return junctor.AsError(err)
	}
	return fail(junctor.CodeUpstream, host+" broke off, or gave an answer that is not HTTP", err)
}

// ended is why a context ended: what its owner said, if that is an Error.
func ended(ctx context.Context) error {
	if own, ok := errors.AsType[*junctor.Error](context.Cause(ctx)); ok {
		return own
	}
	return junctor.AsError(ctx.Err())
}

func isX509(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}

func fail(code junctor.Code, message string, cause error) error {
	return &junctor.Error{Code: code, Message: message, Cause: cause}
}
