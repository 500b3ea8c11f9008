package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"bawn/internal/policy"
)

func TestUnreached(t *testing.T) {
	h, err := policy.ParseHost("proxy.test")
	if err != nil {
		t.Fatal(err)
	}
	via := &hop{host: h, port: 3128, variable: "https_proxy", user: "me:secret", hasUser: true}
	op := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, c := range []struct {
		err  error
		want string
	}{
		{op(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "connection refused"},
		{op(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), "no route to host"},
		{op(os.ErrDeadlineExceeded), "no answer in time"},
		{op(context.DeadlineExceeded), "no answer in time"},
		{fmt.Errorf("x: %w", context.Canceled), GivenUp},
		{net.ErrClosed, GivenUp},
		{fmt.Errorf("cannot resolve: %w", &net.DNSError{Err: "no such host", IsNotFound: true}), "no such name"},
		{&net.DNSError{Err: "i/o timeout", IsTimeout: true}, "the name server does not answer"},
		{&net.DNSError{Err: "server\nmisbehaving"}, `the name server fails: server\x0amisbehaving`},
		{&hopError{via, op(syscall.ECONNREFUSED)}, "the upstream proxy proxy.test:3128 (https_proxy): connection refused"},
		{&hopError{via, errors.New("it answered 502 Bad Gateway")}, "the upstream proxy proxy.test:3128 (https_proxy): it answered 502 Bad Gateway"},
		{&hopError{via, context.Canceled}, GivenUp},
		{&DeniedError{}, ""},
		{errors.New("odd\x1b"), `odd\x1b`},
	} {
		if got := unreached(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
