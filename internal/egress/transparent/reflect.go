package transparent

import (
	"context"
	"net"
	"time"
)

// read takes the device's packets.
func (e *Engine) read() error {
	buf := make([]byte, vnetLen+1<<16)
	for {
		n, err := e.o.TUN.Read(buf)
		if err != nil {
			return err
		}
		// What the address says to itself never leaves the kernel.
		if p, ok := parse(buf[:n]); ok && p.src == e.addr && p.dst != e.addr {
			e.packet(&p)
		}
	}
}

// send gives a packet to the sandbox's kernel. One that it does not take is
// lost, as packets are.
func (e *Engine) send(buf []byte) { _, _ = e.o.TUN.Write(buf) }

func (e *Engine) packet(p *packet) {
	switch p.protocol {
	case tcpProtocol:
		if p.options {
			e.refuse(p) // a source route would show in every packet's header
			return
		}
		e.tcp(p)
	case udpProtocol:
		if !p.validSum() {
			return
		}
		if p.dstPort != 53 {
			e.send(p.unreachable(unreachablePort))
			return
		}
		select {
		case e.queries <- p.clone():
		default:
		}
	case icmpProtocol: // never answered: it may be an error itself
	default:
		e.send(p.unreachable(unreachableProtocol))
	}
}

// refuse answers what has no flow, as a host without the port does.
func (e *Engine) refuse(p *packet) {
	if p.flags&flagRST == 0 && p.validSum() {
		e.send(p.reset())
	}
}

func (e *Engine) tcp(p *packet) {
	if p.srcPort == e.port {
		if !e.fromRelay(p) {
			e.refuse(p)
			return
		}
		e.send(p.buf)
		return
	}
	switch e.fromClient(p) {
	case pass:
		e.send(p.buf)
	case reject:
		e.refuse(p)
	case keep:
	}
}

// fromRelay rewrites a packet of the listener's side for the client.
func (e *Engine) fromRelay(p *packet) bool {
	e.mu.Lock()
	defer e.unlock()
	f := e.table.byAlias[alias{p.dst, p.dstPort}]
	if f == nil || f.state == held {
		return false
	}
	if p.flags&(flagFIN|flagRST) != 0 || f.state == closed {
		f.finRelay = f.finRelay || p.flags&flagFIN != 0
		e.seen(f, p)
	}
	p.rewrite(f.ends.dst, f.ends.dstPort, e.addr, f.ends.srcPort)
	return true
}

type verdict uint8

const (
	reject verdict = iota
	pass
	keep
)

// fromClient rewrites a packet of a client for the listener, unless it is the
// SYN that begins a connection.
func (e *Engine) fromClient(p *packet) verdict {
	e.mu.Lock()
	defer e.unlock()
	id := ends{p.src, p.dst, p.srcPort, p.dstPort}
	f := e.table.byEnds[id]
	if p.flags&(flagSYN|flagACK|flagRST|flagFIN) == flagSYN {
		if f != nil && f.seq != p.seq() {
			// The client's kernel is done with the old connection on this
			// port, or it would not use it again.
			e.table.drop(f)
			f = nil
		}
		switch {
		case f == nil:
			return e.begin(id, p)
		case f.state == held:
			now := time.Now()
			f.gap, f.tries = now.Sub(f.tries), now
			return keep
		}
	}
	if f == nil || f.state == held {
		return reject
	}
	if p.flags&(flagFIN|flagRST) != 0 || f.state == closed {
		f.finClient = f.finClient || p.flags&flagFIN != 0
		e.seen(f, p)
	}
	p.rewrite(f.alias.addr, f.alias.port, e.addr, e.port)
	return pass
}

// seen notes a packet that may be among a connection's last ones.
func (e *Engine) seen(f *flow, p *packet) {
	if p.flags&flagRST != 0 {
		f.rst = true
		if f.state == opening { // there is nothing to accept any more
			e.table.kill(f.server)
			f.server = nil
			e.table.set(f, closed, time.Now())
			return
		}
	}
	if f.state == closed {
		if !f.finished {
			f.since = time.Now()
		}
		e.table.settle(f)
	}
}

// begin holds a SYN and has it decided.
func (e *Engine) begin(id ends, p *packet) verdict {
	if !p.validSum() || e.ended {
		return keep
	}
	f := e.table.add(id, p.seq(), time.Now())
	if f == nil {
		return reject
	}
	f.syn = append([]byte(nil), p.buf...)
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(e.ctx)
	e.workers.Go(func() { e.open(ctx, f) })
	e.watch()
	return keep
}

// answer serves queries to whatever resolver's address a program has.
func (e *Engine) answer() error {
	for {
		select {
		case <-e.ctx.Done():
			return net.ErrClosed
		case p := <-e.queries:
			if out := e.resolver.Answer(e.ctx, p.transport[udpLen:]); out != nil {
				e.send(p.datagram(out))
			}
		}
	}
}

// clone is a packet that outlives the read buffer.
func (p *packet) clone() packet {
	c, _ := parse(append([]byte(nil), p.buf...))
	return c
}
