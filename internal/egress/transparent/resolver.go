package transparent

import (
	"context"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/dns/dnsmessage"

	"bawn/internal/policy"
)

// Resolver answers every DNS query of a sandbox by itself: nothing is looked
// up or forwarded, so that no query tells anybody anything. An allowed name
// gets a synthetic address; its real ones are found by whoever dials.
//
// What is refused is NXDOMAIN, never REFUSED: musl and c-ares take REFUSED for
// a passing failure and try for seconds.
type Resolver struct {
	// Name decides whether a name exists inside: Deny says that it does
	// not, and the text of its rule goes into the answer. It must not block.
	Name func(context.Context, policy.Host) policy.Decision
	Pool *Pool
}

const (
	nameTTL = 60 // seconds

	// Sizes in bytes. Every answer fits into the least that any client
	// takes, so none is truncated.
	maxQuery    = 4096
	maxAnswer   = 512
	ednsPayload = 1232
	maxReason   = 200 // 12 header + 259 question + 11 OPT + 6 option + 200 < 512

	ednsError    = 15 // option code (RFC 8914)
	edeFiltered  = 17
	edeOther     = 0
	rcodeBadVers = 16
)

// query is the part of a message that matters here.
type query struct {
	header   dnsmessage.Header
	question dnsmessage.Question
	edns     bool
	version  byte
}

// answer is what to say; the zero value is "no such data".
type answer struct {
	rcode  dnsmessage.RCode
	addr   netip.Addr // an A record
	name   string     // a PTR record, without trailing dot
	ede    uint16
	reason string
}

// Answer returns the reply to one message, or nil to send none: to what is
// not a query. A panic on the way costs the client its answer, nobody else
// anything.
func (r *Resolver) Answer(ctx context.Context, msg []byte) (reply []byte) {
	defer func() {
		if recover() != nil {
			reply = nil
		}
	}()
	if len(msg) > maxQuery {
		return nil
	}
	var p dnsmessage.Parser
	h, err := p.Start(msg)
	if err != nil || h.Response {
		return nil
	}
	q := query{header: h}
	a := answer{rcode: dnsmessage.RCodeFormatError}
	switch {
	case h.OpCode != 0:
		a.rcode = dnsmessage.RCodeNotImplemented
	case q.read(&p):
		a = r.decide(ctx, q)
	default:
		q.question = dnsmessage.Question{}
	}
	return a.pack(q)
}

// read takes the one question and the EDNS record.
func (q *query) read(p *dnsmessage.Parser) bool {
	var err error
	if q.question, err = p.Question(); err != nil {
		return false
	}
	if _, err := p.Question(); err != dnsmessage.ErrSectionDone {
		return false
	}
	if p.SkipAllAnswers() != nil || p.SkipAllAuthorities() != nil {
		return false
	}
	for {
		h, err := p.AdditionalHeader()
		if err == dnsmessage.ErrSectionDone {
			return true
		}
		if err != nil {
			return false
		}
		if h.Type == dnsmessage.TypeOPT {
			if q.edns || h.Name.Length != 1 {
				return false // two, or not at the root
			}
			q.edns, q.version = true, byte(h.TTL>>16)
		}
		if p.SkipAdditional() != nil {
			return false
		}
	}
}

func (r *Resolver) decide(ctx context.Context, q query) answer {
	if q.version != 0 {
		return answer{rcode: rcodeBadVers}
	}
	if q.question.Class != dnsmessage.ClassINET && q.question.Class != dnsmessage.ClassANY {
		return answer{rcode: dnsmessage.RCodeNotImplemented}
	}
	name := strings.ToLower(strings.TrimSuffix(q.question.Name.String(), "."))
	if name == "" {
		return answer{} // the root, which pings ask for
	}
	if strings.HasSuffix(name, ".in-addr.arpa") {
		return r.reverse(name)
	}
	h, err := policy.ParseHost(name)
	if err != nil {
		return answer{rcode: dnsmessage.RCodeNameError, ede: edeOther, reason: "not a host name"}
	}
	if _, literal := h.Addr(); literal {
		return answer{rcode: dnsmessage.RCodeNameError, ede: edeOther, reason: "an address has no address"}
	}
	wantsA := q.question.Type == dnsmessage.TypeA || q.question.Type == dnsmessage.TypeALL
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		if wantsA {
			return answer{addr: netip.AddrFrom4(ipv4{127, 0, 0, 1})}
		}
		return answer{}
	}
	d := r.Name(ctx, h)
	if d.Verdict == policy.Deny {
		return answer{rcode: dnsmessage.RCodeNameError, ede: edeFiltered, reason: d.Rule.Text}
	}
	if !wantsA {
		// No IPv6 inside, and neither keys nor hints of other ways (HTTPS
		// records) to a host that is reached by name alone.
		return answer{}
	}
	addr, ok := r.Pool.Addr(h)
	if !ok {
		return answer{rcode: dnsmessage.RCodeServerFailure, ede: edeOther, reason: "too many names in this session"}
	}
	return answer{addr: addr}
}

// reverse names the synthetic addresses; no other has a name.
func (r *Resolver) reverse(name string) answer {
	labels := strings.Split(strings.TrimSuffix(name, ".in-addr.arpa"), ".")
	if len(labels) == 4 {
		a, err := netip.ParseAddr(labels[3] + "." + labels[2] + "." + labels[1] + "." + labels[0])
		if err == nil && a == netip.AddrFrom4(ipv4{127, 0, 0, 1}) {
			return answer{name: "localhost"}
		}
		if h, ok := r.Pool.Host(a); err == nil && ok {
			return answer{name: h.String()}
		}
	}
	return answer{rcode: dnsmessage.RCodeNameError}
}

// pack writes the reply; nil if that cannot be done.
func (a answer) pack(q query) []byte {
	b := dnsmessage.NewBuilder(make([]byte, 0, maxAnswer), dnsmessage.Header{
		ID: q.header.ID, Response: true, OpCode: q.header.OpCode, Authoritative: true,
		RecursionDesired: q.header.RecursionDesired, RecursionAvailable: true, RCode: a.rcode & 15,
	})
	b.EnableCompression()
	if q.question.Name.Length != 0 {
		if b.StartQuestions() != nil || b.Question(q.question) != nil {
			return nil
		}
	}
	if b.StartAnswers() != nil {
		return nil
	}
	h := dnsmessage.ResourceHeader{Name: q.question.Name, Class: dnsmessage.ClassINET, TTL: nameTTL}
	switch {
	case a.addr.IsValid():
		if b.AResource(h, dnsmessage.AResource{A: a.addr.As4()}) != nil {
			return nil
		}
	case a.name != "" && (q.question.Type == dnsmessage.TypePTR || q.question.Type == dnsmessage.TypeALL):
		ptr, err := dnsmessage.NewName(a.name + ".")
		if err != nil || b.PTRResource(h, dnsmessage.PTRResource{PTR: ptr}) != nil {
			return nil
		}
	}
	if q.edns && !a.option(&b) {
		return nil
	}
	out, err := b.Finish()
	if err != nil {
		return nil
	}
	return out
}

// option adds the EDNS record, with the reason for those who show it (dig).
func (a answer) option(b *dnsmessage.Builder) bool {
	var h dnsmessage.ResourceHeader
	if b.StartAdditionals() != nil || h.SetEDNS0(ednsPayload, a.rcode, false) != nil {
		return false
	}
	var opt dnsmessage.OPTResource
	if a.reason != "" {
		data := append([]byte{byte(a.ede >> 8), byte(a.ede)}, clean(a.reason)...)
		opt.Options = []dnsmessage.Option{{Code: ednsError, Data: data}}
	}
	return b.OPTResource(h, opt) == nil
}

// clean makes a reason fit for a terminal and the space there is.
func clean(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
	for len(s) > maxReason {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}
