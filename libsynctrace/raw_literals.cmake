# SPDX-License-Identifier: Apache-2.0
# Texts as C++: raw literals of a length that every compiler takes, side by side.
function(raw_literals text result)
  string(LENGTH "${text}" length)
  set(code "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 part)
    string(APPEND code "R\"embedded(${part})embedded\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  set(${result} "${code}" PARENT_SCOPE)
endfunction()
