//go:build linux

package netns

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// Where there is no device, the namespace's own firewall leads connections to
// the Relay listener, which learns from the kernel where they were meant to go
// (SO_ORIGINAL_DST). Every IPv4 address is made a local one (localRoute), so
// that packets to it have somewhere to go; these are the rules for them:
//
//	output (nat)     127.0.0.0/8, Address: as ever
//	                 TCP:                  to the Relay listener
//	                 UDP port 53:          to the resolver
//	input (filter)   127.0.0.0/8, Address: delivered
//	                 UDP:                  refused, "port unreachable"
//	                 other, but not TCP:   refused, "protocol unreachable"
//	                 all else:             dropped
//
// The second chain keeps what is meant for the outside from a server inside
// that listens on all addresses. It is on the way in since a datagram that is
// stopped on the way out fails in send(2), with EPERM, which no client takes
// for "refused". TCP only gets there when connection tracking does not take
// the packet for part of a connection.
//
// They hold against everything that runs inside later: changing them takes
// CAP_NET_ADMIN over the namespace's owner.
const ruleTable = "bawn"

const (
	outputChain = "output"
	inputChain  = "input"

	priorityDNAT   = -100 // NF_IP_PRI_NAT_DST
	priorityFilter = 0

	verdictDrop   = 0 // NF_DROP
	verdictAccept = 1 // NF_ACCEPT

	protocolAt    = 9 // offsets in an IPv4 header
	destinationAt = 16
	portAt        = 2 // in a UDP header

	portUnreachable     = 3 // ICMP codes
	protocolUnreachable = 2
)

// redirect installs the rules, all or none.
func redirect(relay uint16) error {
	var b batch
	b.firewall(unix.NFNL_MSG_BATCH_BEGIN, 0, unix.AF_UNSPEC, "use nf_tables")
	b.end()
	b.firewall(nftMessage(unix.NFT_MSG_NEWTABLE), unix.NLM_F_CREATE|unix.NLM_F_EXCL, unix.NFPROTO_IPV4, "add a table of nf_tables")
	b.text(unix.NFTA_TABLE_NAME, ruleTable)
	b.end()

	b.chain(outputChain, "nat", unix.NF_INET_LOCAL_OUT, priorityDNAT, verdictAccept)
	b.chain(inputChain, "filter", unix.NF_INET_LOCAL_IN, priorityFilter, verdictDrop)
	for _, chain := range [...]string{outputChain, inputChain} {
		b.rule(chain, func() { b.match(destinationAt, 127); b.verdict(verdictAccept) })
		b.rule(chain, func() { b.match(destinationAt, Address[:]...); b.verdict(verdictAccept) })
	}
	b.rule(outputChain, func() { b.match(protocolAt, unix.IPPROTO_TCP); b.translate(relay) })
	b.rule(outputChain, func() {
		b.match(protocolAt, unix.IPPROTO_UDP)
		b.compare(unix.NFT_PAYLOAD_TRANSPORT_HEADER, portAt, unix.NFT_CMP_EQ, port(DNSPort)...)
		b.translate(DNSPort)
	})
	b.rule(inputChain, func() { b.match(protocolAt, unix.IPPROTO_UDP); b.reject(portUnreachable) })
	b.rule(inputChain, func() {
		b.compare(unix.NFT_PAYLOAD_NETWORK_HEADER, protocolAt, unix.NFT_CMP_NEQ, unix.IPPROTO_TCP)
		b.reject(protocolUnreachable)
	})
	return b.commit()
}

// commit ends the batch, has the kernel do it and reports the first failure.
func (b *batch) commit() error {
	last := b.start // the one that is answered: older kernels do not answer the end
	b.firewall(unix.NFNL_MSG_BATCH_END, 0, unix.AF_UNSPEC, "")
	b.end()
	b.start, b.steps = last, b.steps[:len(b.steps)-1]
	return b.run(unix.NETLINK_NETFILTER)
}

func nftMessage(kind uint16) uint16 { return unix.NFNL_SUBSYS_NFTABLES<<8 | kind }

func port(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }

// firewall begins a message to nfnetlink.
func (b *batch) firewall(kind, flags uint16, family byte, what string) {
	b.begin(kind, flags, step{what: what})
	b.buf = append(b.buf, family, unix.NFNETLINK_V0)
	b.buf = binary.BigEndian.AppendUint16(b.buf, unix.NFNL_SUBSYS_NFTABLES)
}

// number appends an attribute in nf_tables' byte order, which is the network's.
func (b *batch) number(kind uint16, v uint32) {
	b.attr(kind, binary.BigEndian.AppendUint32(nil, v)...)
}

func (b *batch) text(kind uint16, s string) { b.attr(kind, append([]byte(s), 0)...) }

// nest appends an attribute that has what fill appends within it.
func (b *batch) nest(kind uint16, fill func()) {
	at := len(b.buf)
	b.u16(0)
	b.u16(kind | unix.NLA_F_NESTED)
	fill()
	binary.NativeEndian.PutUint16(b.buf[at:], uint16(len(b.buf)-at))
}

func (b *batch) chain(name, kind string, hook uint32, priority int32, policy uint32) {
	b.firewall(nftMessage(unix.NFT_MSG_NEWCHAIN), unix.NLM_F_CREATE|unix.NLM_F_EXCL, unix.NFPROTO_IPV4,
		fmt.Sprintf("add the %s chain of nf_tables", kind))
	b.text(unix.NFTA_CHAIN_TABLE, ruleTable)
	b.text(unix.NFTA_CHAIN_NAME, name)
	b.nest(unix.NFTA_CHAIN_HOOK, func() {
		b.number(unix.NFTA_HOOK_HOOKNUM, hook)
		b.number(unix.NFTA_HOOK_PRIORITY, uint32(priority))
	})
	b.number(unix.NFTA_CHAIN_POLICY, policy)
	b.text(unix.NFTA_CHAIN_TYPE, kind)
	b.end()
}

// rule appends a rule to a chain; fill appends its expressions.
func (b *batch) rule(chain string, fill func()) {
	b.firewall(nftMessage(unix.NFT_MSG_NEWRULE), unix.NLM_F_CREATE|unix.NLM_F_APPEND, unix.NFPROTO_IPV4, "add a rule of nf_tables")
	b.text(unix.NFTA_RULE_TABLE, ruleTable)
	b.text(unix.NFTA_RULE_CHAIN, chain)
	b.nest(unix.NFTA_RULE_EXPRESSIONS, fill)
	b.end()
}

func (b *batch) expression(name string, fill func()) {
	b.nest(unix.NFTA_LIST_ELEM, func() {
		b.text(unix.NFTA_EXPR_NAME, name)
		b.nest(unix.NFTA_EXPR_DATA, fill)
	})
}

// match goes on with the rule if these bytes are in the IPv4 header.
func (b *batch) match(offset uint32, want ...byte) {
	b.compare(unix.NFT_PAYLOAD_NETWORK_HEADER, offset, unix.NFT_CMP_EQ, want...)
}

func (b *batch) compare(header, offset, how uint32, want ...byte) {
	b.expression("payload", func() {
		b.number(unix.NFTA_PAYLOAD_DREG, unix.NFT_REG_1)
		b.number(unix.NFTA_PAYLOAD_BASE, header)
		b.number(unix.NFTA_PAYLOAD_OFFSET, offset)
		b.number(unix.NFTA_PAYLOAD_LEN, uint32(len(want)))
	})
	b.expression("cmp", func() {
		b.number(unix.NFTA_CMP_SREG, unix.NFT_REG_1)
		b.number(unix.NFTA_CMP_OP, how)
		b.nest(unix.NFTA_CMP_DATA, func() { b.attr(unix.NFTA_DATA_VALUE, want...) })
	})
}

func (b *batch) verdict(code uint32) {
	b.expression("immediate", func() {
		b.number(unix.NFTA_IMMEDIATE_DREG, unix.NFT_REG_VERDICT)
		b.nest(unix.NFTA_IMMEDIATE_DATA, func() {
			b.nest(unix.NFTA_DATA_VERDICT, func() { b.number(unix.NFTA_VERDICT_CODE, code) })
		})
	})
}

func (b *batch) load(register uint32, value []byte) {
	b.expression("immediate", func() {
		b.number(unix.NFTA_IMMEDIATE_DREG, register)
		b.nest(unix.NFTA_IMMEDIATE_DATA, func() { b.attr(unix.NFTA_DATA_VALUE, value...) })
	})
}

// translate leads a connection to a port of Address. Where that makes two
// connections the same, those of one client port to two destinations, the
// kernel gives the second another source port.
func (b *batch) translate(to uint16) {
	b.load(unix.NFT_REG_1, Address[:])
	b.load(unix.NFT_REG_2, port(to))
	b.expression("nat", func() {
		b.number(unix.NFTA_NAT_TYPE, unix.NFT_NAT_DNAT)
		b.number(unix.NFTA_NAT_FAMILY, unix.NFPROTO_IPV4)
		b.number(unix.NFTA_NAT_REG_ADDR_MIN, unix.NFT_REG_1)
		b.number(unix.NFTA_NAT_REG_PROTO_MIN, unix.NFT_REG_2)
	})
}

func (b *batch) reject(code byte) {
	b.expression("reject", func() {
		b.number(unix.NFTA_REJECT_TYPE, unix.NFT_REJECT_ICMP_UNREACH)
		b.attr(unix.NFTA_REJECT_ICMP_CODE, code)
	})
}
