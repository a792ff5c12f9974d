"""The controls of the Study form: functions that return HTML, from the template controls.html."""

from typing import Final

from components.html.templates import macros

controls: Final = macros("study/file/controls.html")
