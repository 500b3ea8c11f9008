package policy

import (
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// maxHostRules bounds each list of a NetworkConfig.
const maxHostRules = 1 << 20

// NetworkConfig is what a Network is made from.
type NetworkConfig struct {
	// Allow adds to the built-in hosts: with no rule at all they hold, and
	// nothing more (SPEC N10). Every host is allowed only by the rule *.
	Allow []HostRule
	// Deny wins over every other rule.
	Deny []HostRule
	// AllowPrivate are the hosts that may have an internal address. It opens
	// no host by itself, except one that is written as an address.
	AllowPrivate []HostRule
	// NoDefaults drops the built-in hosts.
	NoDefaults bool
	// LocalPorts are the ports of this machine's 127.0.0.1 and ::1 that may be reached.
	LocalPorts []uint16
	// Registries, if it has an ID, is the reason why of the built-in hosts only
	// the package registries hold, and why a host without a rule is denied, not
	// asked about.
	Registries Rule
	// PortOrigins says where a local port was named, if a file did.
	PortOrigins map[uint16]Origin
	// Off: no connection leaves at all, as Origin says.
	Off    bool
	Origin Origin
}

// The lists of rules.
const (
	listDeny = iota
	listAllow
	listPrivate
	lists
)

// Network decides connections: an immutable value. The zero Network denies
// everything.
type Network struct {
	rules []netRule
	// names finds the rules for every port by the name in their pattern, and
	// those of * by ""; exact those for one port, and all for an address.
	names      map[string]nameRules
	exact      map[Connect]places
	allowPorts map[Host][]uint16 // the ports of allowing rules that give one
	depth      int               // labels of the longest name in a rule
	localPorts []uint16
	registries Rule
	portsBy    map[uint16]Origin
}

type netRule struct {
	HostRule
	id string
}

// places are the indexes of one rule of each list, counted from 1.
type places [lists]int32

type nameRules struct {
	places
	ports bool // exact has rules for single ports of this name
}

// NewNetwork checks the rules and makes the Network.
func NewNetwork(c NetworkConfig) (Network, error) {
	n := Network{
		rules:      make([]netRule, 0, len(c.Deny)+len(c.Allow)+len(c.AllowPrivate)+len(defaultHosts)),
		names:      make(map[string]nameRules, len(c.Deny)+len(c.Allow)+len(c.AllowPrivate)+len(defaultHosts)),
		localPorts: slices.Clone(c.LocalPorts), portsBy: maps.Clone(c.PortOrigins), registries: c.Registries,
	}
	if !c.NoDefaults {
		hosts := defaultHosts[:]
		if c.Registries.ID != "" {
			hosts = hosts[:registryHosts]
		}
		for i := range hosts {
			n.add(listAllow, netRule{defaultRule(i), defaultHosts[i]})
		}
	}
	if slices.Contains(n.localPorts, 0) {
		return Network{}, fmt.Errorf("allowed local ports: 0 is no port")
	}
	if err := n.addRules([lists][]HostRule{c.Deny, c.Allow, c.AllowPrivate}); err != nil {
		return Network{}, err
	}
	return n, nil
}

func (n *Network) addRules(more [lists][]HostRule) error {
	for list, rules := range more {
		if err := checkHostRules(listNames[list], rules); err != nil {
			return err
		}
		for _, r := range rules {
			if list == listPrivate && r.scope == scopeAny {
				return fmt.Errorf("%s: %q would open every internal address; name the hosts", listNames[list], r)
			}
			if a, ok := r.host.Addr(); ok && list != listDeny && ClassOf(a).opening() == openNever {
				return fmt.Errorf("%s: %q is %s, and no rule opens that; leave it out", listNames[list], r, addrClasses[ClassOf(a)].what)
			}
			n.add(list, netRule{r, listIDs[list] + r.pattern()})
		}
	}
	return nil
}

// with is n with further rules; n stays as it is.
func (n Network) with(allow, deny []HostRule) (Network, error) {
	n.rules, n.names, n.exact = slices.Clone(n.rules), maps.Clone(n.names), maps.Clone(n.exact)
	ports := make(map[Host][]uint16, len(n.allowPorts))
	for h, p := range n.allowPorts {
		ports[h] = slices.Clone(p)
	}
	n.allowPorts = ports
	err := n.addRules([lists][]HostRule{listDeny: deny, listAllow: allow})
	return n, err
}

var listNames = [lists]string{"denied hosts", "allowed hosts", "hosts with a private address"}

var listIDs = [lists]string{"host:deny:", allowID, "host:allow-private:"}

func (n *Network) add(list int, r netRule) {
	key := Connect{r.host, r.port}
	wideName := r.port == 0 && !r.host.addr.IsValid()
	var at places
	if wideName {
		at = n.names[r.host.name].places
	} else {
		at = n.exact[key]
	}
	if old := at[list]; old != 0 && (n.rules[old-1].scope == scopeHost || r.scope != scopeHost) {
		return // nothing that the earlier rule does not say
	}
	n.rules = append(n.rules, r)
	at[list] = int32(len(n.rules))
	n.depth = max(n.depth, strings.Count(r.host.name, ".")+1)
	if wideName {
		n.names[r.host.name] = nameRules{at, n.names[r.host.name].ports}
		return
	}
	if n.exact == nil {
		n.exact = map[Connect]places{}
	}
	n.exact[key] = at
	if r.port == 0 {
		return
	}
	if !r.host.addr.IsValid() {
		n.names[r.host.name] = nameRules{n.names[r.host.name].places, true}
	}
	if list != listDeny {
		if n.allowPorts == nil {
			n.allowPorts = map[Host][]uint16{}
		}
		n.allowPorts[r.host] = append(n.allowPorts[r.host], r.port)
	}
}

// Rules goes through the rules that hold, each with its ID.
func (n Network) Rules() iter.Seq2[string, HostRule] {
	return func(yield func(string, HostRule) bool) {
		for _, r := range n.rules {
			if !yield(r.id, r.HostRule) {
				return
			}
		}
	}
}

// matches are the rules of each list that cover a connection, one of each:
// rather one that names the host than *, rather one that gives the port,
// rather one for a longer name. nil is none.
type matches [lists]*netRule

// match finds the rules for a connection. With port 0 only the rules for
// every port count.
func (n *Network) match(c Connect) matches {
	var m matches
	n.look(&m, "", c.Port, false)
	if c.Host.addr.IsValid() {
		n.take(&m, n.exact[Connect{c.Host, 0}], true)
		if c.Port != 0 {
			n.take(&m, n.exact[c], true)
		}
		return m
	}
	// From the last label on, no further than any rule goes.
	name := c.Host.name
	for i, label := len(name), 0; i > 0 && label < n.depth; label++ {
		i = strings.LastIndexByte(name[:i], '.')
		n.look(&m, name[i+1:], c.Port, i < 0)
	}
	return m
}

// look takes the rules whose pattern has this name. Where that is the host
// itself, those for what is below it do not count.
func (n *Network) look(m *matches, name string, port uint16, itself bool) {
	at, ok := n.names[name]
	if !ok {
		return
	}
	n.take(m, at.places, itself)
	if at.ports && port != 0 {
		n.take(m, n.exact[Connect{Host{name: name}, port}], itself)
	}
}

func (n *Network) take(m *matches, at places, itself bool) {
	for list, place := range at {
		if place == 0 {
			continue
		}
		r, old := &n.rules[place-1], m[list]
		if itself && r.scope != scopeHost || old != nil && old.scope != scopeAny && old.port != 0 && r.port == 0 {
			continue
		}
		m[list] = r
	}
}

// naming is a rule of those found that allows the host by its name or address.
func (m *matches) naming() *netRule {
	for _, r := range [...]*netRule{m[listAllow], m[listPrivate]} {
		if r != nil && r.scope != scopeAny {
			return r
		}
	}
	return nil
}

// LocalPorts are the ports of this machine's loopback that may be reached.
func (n Network) LocalPorts() []uint16 { return slices.Clone(n.localPorts) }

// PortOrigin is where a local port was named.
func (n Network) PortOrigin(port uint16) Origin { return n.portsBy[port] }

// Decide says whether a connection may be opened. Deny: a rule denies it, or
// the host is an internal address that no rule opens. Ask: no rule covers it;
// with nobody to ask that is a denial. It never resolves a name, so what is
// allowed here must still pass DecideAddr when it is dialled.
func (n Network) Decide(c Connect) Decision {
	if c.Port == 0 {
		return deny("port:none", "there is no port 0", "")
	}
	return n.decide(c)
}

// decide is Decide; port 0 stands for a port that no rule names.
func (n *Network) decide(c Connect) Decision {
	switch {
	case n.names == nil:
		return deny("network:none", "no connection is allowed", "")
	case c.Host == Host{}:
		return deny("host:none", "the host is missing", "")
	}
	m := n.match(c)
	if m[listDeny] != nil {
		return m[listDeny].denial()
	}
	// An internal address, or a name that stands for one, needs a rule that
	// names it.
	if class := classOfHost(c.Host); class != Public {
		switch r := m.naming(); {
		case class.opening() == openNever:
		case r != nil:
			return r.opened()
		case isLocal(c.Host) && slices.Contains(n.localPorts, c.Port):
			return n.localPort(c.Port)
		}
		return internalDenial(c, c.Host, class)
	}
	if r := m[listAllow]; r != nil {
		return Decision{Allow, Rule{ID: r.id, Text: "the host is allowed", Origin: r.origin}}
	}
	if r := n.registries; r.ID != "" {
		r.Text = c.Host.String() + ": " + r.Text
		return Decision{Deny, r}
	}
	return Decision{Ask, Rule{
		ID: "host:unlisted", Text: c.Host.String() + " is not on the list of allowed hosts",
		Lift: "--allow-domain " + c.Host.String() + " or allowed_domains in " + UserFile + " allows it",
	}}
}

// isLocal reports whether h is where the allowed local ports are: at the two
// addresses that localhost has everywhere, or at a name that stands for them.
func isLocal(h Host) bool {
	a, literal := h.Addr()
	if !literal {
		return classOfHost(h) == Loopback
	}
	return a == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || a == netip.IPv6Loopback()
}

// DecideName says whether a name may have an address at all: the verdict of
// the port that fares best.
func (n Network) DecideName(h Host) Decision {
	wide := n.decide(Connect{h, 0})
	if wide.Verdict == Allow || n.names == nil {
		return wide
	}
	try := func(named Host) (Decision, bool) {
		for _, p := range n.allowPorts[named] {
			if d := n.decide(Connect{h, p}); d.Verdict == Allow {
				return d, true
			}
		}
		return Decision{}, false
	}
	if d, ok := try(Host{}); ok {
		return d
	}
	if d, ok := try(h); ok {
		return d
	}
	for rest := h.name; ; {
		_, tail, more := strings.Cut(rest, ".")
		if !more {
			break
		}
		rest = tail
		if d, ok := try(Host{name: rest}); ok {
			return d
		}
	}
	for _, p := range n.localPorts {
		if d := n.decide(Connect{h, p}); d.Verdict == Allow {
			return d
		}
	}
	return wide
}

// DecideAddr says whether the allowed host h may be connected at a, the
// address that is dialled: it belongs where nothing can change a any more. It
// never asks. An internal address needs allow_private for h, or a rule for
// the address itself; loopback needs a rule that gives the port.
func (n Network) DecideAddr(h Host, a netip.AddrPort) Decision {
	dialled := HostAddr(a.Addr())
	c := Connect{h, a.Port()}
	switch {
	case n.names == nil:
		return deny("network:none", "no connection is allowed", "")
	case h == Host{} || dialled == Host{} || c.Port == 0:
		return deny("host:none", "the host, its address or the port is missing", "")
	case h.addr.IsValid() && h != dialled:
		return deny("address:other", "the address is not the one that was asked for", "")
	}
	byName, byAddr := n.match(c), n.match(Connect{dialled, c.Port})
	for _, m := range [...]matches{byName, byAddr} {
		if m[listDeny] != nil {
			return m[listDeny].denial()
		}
	}
	class := ClassOf(dialled.addr)
	switch class.opening() {
	case openAlways:
		return Decision{Allow, Rule{ID: "address:public", Text: "the address is public"}}
	case openNever:
		return internalDenial(c, dialled, class)
	}
	if r := byAddr.naming(); r != nil {
		return r.opened()
	}
	if classOfHost(h) == class { // h says itself where it leads
		if r := byName.naming(); r != nil {
			return r.opened()
		}
		if isLocal(dialled) && slices.Contains(n.localPorts, c.Port) {
			return n.localPort(c.Port)
		}
	}
	if r := byName[listPrivate]; r != nil && (class.opening() == openName || class.opening() == openPort && r.port != 0) {
		return r.opened()
	}
	return internalDenial(c, dialled, class)
}

func (n *Network) localPort(port uint16) Decision {
	return Decision{Allow, Rule{ID: "local-port:" + strconv.Itoa(int(port)), Text: "the local port is allowed", Origin: n.portsBy[port]}}
}

func deny(id, text, lift string) Decision {
	return Decision{Deny, Rule{ID: id, Text: text, Lift: lift}}
}

func (r *netRule) denial() Decision {
	return Decision{Deny, Rule{
		ID: r.id, Text: "a rule denies the host",
		Lift: "remove the rule (" + r.origin.String() + "): no other rule overturns it", Origin: r.origin,
	}}
}

func (r *netRule) opened() Decision {
	return Decision{Allow, Rule{ID: r.id, Text: "a rule opens the internal address", Origin: r.origin}}
}

// internalDenial says which class of address was refused, and the narrowest
// thing that would open it.
func internalDenial(c Connect, dialled Host, class AddrClass) Decision {
	row := addrClasses[class]
	text := dialled.String() + " is " + row.what
	what := "it"
	if c.Host != dialled {
		text = c.Host.String() + " leads to " + dialled.String() + ", " + row.what
	}
	key, entry := opener(c, dialled, class)
	if key == "allowed_domains" && !itself(c.Host, class) {
		what = "the address"
	}
	lift := ""
	if key != "" {
		lift = openFlag(key) + " " + entry + " or " + key + " in " + UserFile + " allows " + what
	}
	return deny("address:"+row.id, text, lift)
}

// openFlag is the flag that does for one run what an entry of the key does.
func openFlag(key string) string {
	switch key {
	case "allowed_local_ports":
		return "--allow-local-port"
	case "allow_private":
		return "--allow-private"
	}
	return "--allow-domain"
}

// itself reports whether a host says itself that it leads to such an address.
func itself(h Host, class AddrClass) bool {
	_, literal := h.Addr()
	return literal || classOfHost(h) == class
}

// opener is the key of [sandbox], and the narrowest entry, that opens an
// internal address; "" if nothing does.
func opener(c Connect, dialled Host, class AddrClass) (key, entry string) {
	host, port := c.Host.bracketed(), "PORT"
	if c.Port != 0 {
		port = strconv.Itoa(int(c.Port))
	}
	switch open := class.opening(); {
	case open == openNever:
		return "", ""
	case itself(c.Host, class) && isLocal(dialled):
		return "allowed_local_ports", port
	case itself(c.Host, class):
		return "allowed_domains", host + ":" + port
	case open == openPort:
		return "allow_private", host + ":" + port
	case open == openName:
		return "allow_private", host
	}
	return "allowed_domains", dialled.bracketed() + ":" + port
}

// Opener is the setting that would open the internal address for which a
// connection was refused with this rule: a key of [sandbox] and its narrowest
// entry. It is "" if nothing opens it, if the entry would be an address that the
// rule does not give, or if the rule is another.
func Opener(c Connect, r Rule) (key, entry string) {
	id, ok := strings.CutPrefix(r.ID, "address:")
	for class := range addrClasses {
		if class := AddrClass(class); ok && addrClasses[class].id == id && c.Port != 0 && (itself(c.Host, class) || class.opening() != openLiteral) {
			return opener(c, c.Host, class)
		}
	}
	return "", ""
}
