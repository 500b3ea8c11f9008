package screen

import "strconv"

func (s *scanner) ansiModes(p []int, on bool) {
	for _, mode := range p {
		to := onScreen
		switch mode {
		case 4:
			s.modes.insert = on
		case 20:
			s.modes.newline, to = on, onBoth
		default:
			continue
		}
		seq := append([]byte("\x1b["), strconv.Itoa(mode)...)
		if on {
			seq = append(seq, 'h')
		} else {
			seq = append(seq, 'l')
		}
		s.send(to, seq...)
	}
}

func (s *scanner) privateModes(p []int, on bool) stop {
	why := atEnd
	for _, mode := range p {
		seq := private1(nil, mode, on)
		switch to, ok := private[mode]; {
		case mode == 47 || mode == 1047 || mode == 1049:
			if s.plain {
				s.modes.setPrivate(mode, on)
				s.send(onScreen, seq...)
				continue
			}
			// Only a switch is one: there and back twice is normal.
			if on && !s.composed {
				why = atAlternate
			}
			if !on && s.composed {
				why = atMain
			}
		case mode == 1048:
			if w := s.slotted(on); why == atEnd {
				why = w
			}
		case mode == 6:
			s.send(onEmulator, seq...)
		case mode == 7 && s.at.below && s.tracked():
			s.modes.setPrivate(mode, on) // once it is not there any more
		case ok:
			s.modes.setPrivate(mode, on)
			s.send(to, seq...)
		}
	}
	return why
}

// softReset is DECSTR, which resets the margins and the saved cursor as well,
// but leaves the cursor where it is.
func (s *scanner) softReset() {
	s.pass(onScreen)
	for _, mode := range []int{1, 7, 25, 66} {
		delete(s.modes.private, mode)
	}
	s.modes.keypad, s.modes.insert, s.modes.charset = false, false, false
	s.top, s.bottom = 0, 0
	if !s.composed && !s.plain {
		s.out = append(s.out, "\x1b7"...)
		s.margins()
		s.out = append(s.out, "\x1b8"...)
		s.save()
		s.out = s.rewrap(s.out)
		s.slot = true
	}
}

// ask passes on a question. In composed mode the emulator answers what is
// about its screen.
func (s *scanner) ask(to place) {
	if !s.composed || to == onTerminal {
		s.asked++
	}
	s.pass(to)
}

// askMode answers for the modes that are dropped: "not recognised".
func (s *scanner) askMode(isPrivate bool, mode int) {
	_, ok := private[mode]
	if isPrivate && (ok || mode == 47 || mode == 1047 || mode == 1049) || !isPrivate && (mode == 4 || mode == 20) {
		to := onScreen
		if private[mode] == onTerminal {
			to = onTerminal
		}
		s.ask(to)
		return
	}
	s.reply = append(s.reply, "\x1b["...)
	if isPrivate {
		s.reply = append(s.reply, '?')
	}
	s.reply = strconv.AppendInt(s.reply, int64(mode), 10)
	s.reply = append(s.reply, ";0$y"...)
}

func (s *scanner) kitty(kind string, arg func(i, missing int) int) {
	k := &s.modes.kitty[0]
	if s.composed {
		k = &s.modes.kitty[1]
	}
	switch kind {
	case ">u":
		if len(k.stack) == maxKitty {
			return
		}
		k.stack = append(k.stack, string(s.seq))
	case "<u":
		k.stack = k.stack[:max(0, len(k.stack)-arg(0, 1))]
	case "=u":
		// How it combines with what was set does not matter: undoing sets 0.
		if n := len(k.stack); n > 0 {
			k.stack[n-1] = "\x1b[>" + strconv.Itoa(arg(0, 0)) + "u"
		} else {
			k.base = string(s.seq)
		}
	}
	s.pass(onTerminal)
}

// window is XTWINOPS: what moves and sizes the window, or has its title typed,
// is dropped. The size is the command's own.
func (s *scanner) window(op int) {
	switch op {
	case 16: // the size of a character in pixels
		s.ask(onTerminal)
	case 18:
		s.reply = append(s.reply, "\x1b[8;"+strconv.Itoa(s.rows)+";"+strconv.Itoa(s.cols)+"t"...)
	}
}
