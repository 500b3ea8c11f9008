package egress

// A ClientHello is read by hand (RFC 8446, 4.1.2; RFC 6066, 3): only what
// leads to the server name.

const (
	recordCipher    = 0x14 // change of ciphers
	recordAlert     = 0x15
	recordHandshake = 0x16
	maxRecord       = 1<<14 + 256
	maxHello        = 60 << 10 // a hello with post-quantum keys has about 2 KiB
)

type helloState uint8

const (
	helloMore helloState = iota
	helloBroken
	helloWhole
)

// serverName gives the one server name of the ClientHello at the start of b,
// "" if it has none, and where its last record ends. It may be split over
// records, and nothing else may be in them.
func serverName(b []byte) (name string, end int, state helloState) {
	var hello []byte
	for size := 4; len(hello) < size; {
		if len(b) < 5 {
			return "", 0, helloMore
		}
		record := int(b[3])<<8 | int(b[4])
		if b[0] != recordHandshake || b[1] != 3 || record == 0 || record > maxRecord {
			return "", 0, helloBroken
		}
		part := b[5:min(len(b), 5+record)]
		hello = append(hello, part...)
		b = b[5+len(part):]
		end += 5 + len(part)
		if len(part) < record {
			b = nil // the rest of this record comes first
		}
		if len(hello) >= 4 {
			size = 4 + (int(hello[1])<<16 | int(hello[2])<<8 | int(hello[3]))
			if hello[0] != 1 || size > maxHello || len(hello)-len(part)+record > size {
				return "", 0, helloBroken
			}
		}
	}
	name, state = parseHello(hello[4:])
	return name, end, state
}

// cursor reads from the front of a message; a read past its end breaks it.
type cursor struct {
	b      []byte
	broken bool
}

func (c *cursor) bytes(n int) []byte {
	if n > len(c.b) {
		c.b, c.broken = nil, true
		return nil
	}
	head := c.b[:n]
	c.b = c.b[n:]
	return head
}

func (c *cursor) number(size int) int {
	v := 0
	for _, x := range c.bytes(size) {
		v = v<<8 | int(x)
	}
	return v
}

// vector reads what a length of the given size stands before.
func (c *cursor) vector(size int) *cursor {
	v := c.bytes(c.number(size))
	return &cursor{v, c.broken}
}

func parseHello(b []byte) (string, helloState) {
	c := &cursor{b: b}
	c.bytes(2 + 32) // version, random
	c.vector(1)     // session
	c.vector(2)     // cipher suites
	c.vector(1)     // compression
	if !c.broken && len(c.b) == 0 {
		return "", helloWhole // no extensions at all
	}
	extensions := c.vector(2)
	if c.broken || len(c.b) > 0 {
		return "", helloBroken
	}
	name, seen := "", false
	for len(extensions.b) > 0 {
		kind, body := extensions.number(2), extensions.vector(2)
		if extensions.broken {
			return "", helloBroken
		}
		if kind != 0 {
			continue
		}
		// One list of one name of the only kind there is: with more, the
		// server may pick another than we.
		list := body.vector(2)
		hostName := list.number(1) == 0
		n := list.vector(2)
		if seen || !hostName || list.broken || len(list.b) > 0 || len(body.b) > 0 || len(n.b) == 0 {
			return "", helloBroken
		}
		name, seen = string(n.b), true
	}
	if extensions.broken {
		return "", helloBroken
	}
	return name, helloWhole
}
