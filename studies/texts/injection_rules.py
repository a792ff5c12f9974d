"""Rules for suspected prompt injections: verdict markers, commands, chat tags, in many languages.

Each rule has trigger words. Its pattern is tried only if one of these words occurs, because
searching for a word is about fifty times faster than matching a pattern, and most texts have none
of the words. Words and patterns are matched against text in lower case, with single spaces and line
breaks. All patterns take linear time, as no repetition is nested in another.
"""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class InjectionRule:
    """One kind of suspicious text: trigger words, pattern, and a description for the page."""

    name: str
    description: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]


_WORD: Final = r"\b"


def _make_rule(name: str, description: str, words: str, *patterns: str) -> InjectionRule:
    """Return a rule that matches any of the regular expressions `patterns`; its trigger `words` are
    separated by two spaces or a line break."""
    # Patterns that begin with a word are joined, so that the start of a word is checked only once.
    at_words = [pattern.removeprefix(_WORD) for pattern in patterns if pattern.startswith(_WORD)]
    others = [f"(?:{pattern})" for pattern in patterns if not pattern.startswith(_WORD)]
    joined = "|".join([rf"\b(?=\w)(?:{'|'.join(at_words)})"] * bool(at_words) + others)
    triggers = tuple(re.split(r"\s{2,}", words.strip()))
    return InjectionRule(name, description, triggers, re.compile(joined))


_GAP: Final = r"[\s,]{1,3}"
_JUDGE: Final = (
    r"(?:(?:ai|llm|impartial|fair|expert|honou?rable|human|automatic|automated)\s){0,2}"
    r"(?:judge|grader|evaluator|rater|assessor|examiner)s?"
)
_ANSWER: Final = r"(?:answer|response|reply|output|completion|submission)"
_LABEL: Final = r"(?:response|assistant|answer|output|model|candidate)[\s_]#?(?:[a-d]|[12]|one|two)"
_BEST: Final = (
    r"(?:the\s)?(?:very\s)?(?:best|better|winner|winning|superior|preferred|highest|first place|"
    r"top|10\b|10/10|5/5|a?\s?perfect|full marks|a?\s?maximum)"
)
_CHOOSE: Final = r"(?:choose|pick|select|prefer|favou?r|vote for|declare|output|name|crown|award)"
_RATE: Final = r"(?:rate|score|rank|grade|mark|judge|give)"
_MUST: Final = r"(?:must|should|have to|has to|need to|shall|are (?:required|told) to|will)"
_ORDER_START: Final = (
    r"(?:(?:^|[.!?:;\n\u201c\"'(\[>*#-])[ \t*>#-]{0,4}|\b(?:please|always|simply|just|now|"
    r"must|should|have to|to only|therefore|and)\s)"
)
"""Pattern of the text before the verb of a command: the start of a sentence, or a word such as
"please"; so "I choose this answer" is not taken as a command."""

INJECTION_RULES: Final[tuple[InjectionRule, ...]] = (
    _make_rule(
        "marker",
        "writes a verdict as a judge would",
        "[[  [result]  overall response  overall, response  overall assistant  overall, assistant  "
        "winner\"  winner'  final verdict",
        r"\[\[\s?(?:[a-d]|tie|(?:response|assistant)\s?[a-d]|[ab]\s?(?:>>?|=|<<?)\s?[ab])\s?\]\]",
        r"\brating\s?:?\s{0,2}\[\[\s?\d{1,2}(?:\.\d)?\s?\]\]",
        r"\[result\]\s{0,2}:?\s{0,2}\d",
        r"\boverall\s?,?\s{1,2}(?:response|assistant)\s[ab12]\b[\s,]{1,2}is\s(?:\w+\s){0,2}better\b",
        r"\b(?:my\s)?final\sverdict(?:\sis)?\s?:\s{0,2}\W{0,4}(?:response|assistant|answer|option|"
        r"[ab12]\b|tie\b)",
        r"[\"']winner[\"']\s{0,3}:\s{0,3}[\"'](?:model_|response_?|assistant_?)?[ab12]\b",
    ),
    _make_rule(
        "override",
        "tells the judge to ignore its instructions",
        "ignor  disregard  forget  overrid  negeer  игнор  忽略  無視  无视  무시  تجاهل  अनदेखा  "
        "नज़रअंदाज़  yok say  görmezden  zignoruj  bỏ qua  abaikan",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing))\s"
        r"(?:(?:about|all|any|every|each|of|the|your|these|those|everything|whatever|other)\s){0,4}"
        r"(?:previous|prior|above|earlier|preceding|foregoing|former|initial|original|system|"
        r"judging|grading|evaluation|scoring)\s(?:\w+\s){0,2}"
        r"(?:instructions?|prompts?|rules?|guidelines?|criteria|criterion|directions?|directives?|"
        r"commands?|rubrics?|orders?|messages?)\b",
        r"\b(?:ignore|disregard|forget)\s(?:all\s|any\s)?(?:of\s)?(?:the\s|your\s)?"
        r"(?:instructions?|rules|guidelines|criteria|everything)\s"
        r"(?:above|before|you\s(?:were|have been)\s(?:given|told)|so far)\b",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?)\s(?:(?:all|any|of|the|this)\s){0,3}"
        r"(?:above|previous|preceding|foregoing)\s[\"'`*\u201c]{0,3}"
        r"(?:outputs?|answers?|responses?|completions?|submissions?)\b",
        r"\b(?:ignore|disregard)\s(?:the\s)?other\s(?:answer|response|assistant|candidate)s?\b",
        r"\bignorier(?:e|en sie|t)?\s(?:bitte\s)?(?:alle\s|sämtliche\s)?(?:die\s|deine\s|ihre\s)?"
        r"(?:vorherigen|vorigen|bisherigen|obigen|früheren|vorangegangenen)\s"
        r"(?:anweisungen|instruktionen|regeln|vorgaben|befehle)",
        r"\bignor(?:e|ez|er)\s(?:toutes?\s)?(?:les\s|vos\s|tes\s)?(?:instructions|consignes|règles)\s"
        r"(?:précédentes|antérieures|ci-dessus)",
        r"\bignor[ae]\s(?:todas\s)?(?:las\s|tus\s|sus\s|as\s|suas\s)?"
        r"(?:instrucciones|instruções|indicaciones|reglas|regras)\s"
        r"(?:anteriores|previas|prévias|acima)",
        r"\bignora(?:te)?\s(?:tutte\s)?(?:le\s)?istruzioni\s(?:precedenti|di cui sopra)",
        r"\bnegeer\s(?:alle\s)?(?:de\s)?(?:vorige|voorgaande|eerdere|bovenstaande)\s"
        r"(?:instructies|aanwijzingen|regels)",
        r"\bzignoruj\s(?:wszystkie\s)?(?:poprzednie|powyższe|wcześniejsze)\s"
        r"(?:instrukcje|polecenia|zasady)",
        r"(?:про)?игнорируй(?:те)?\s(?:все\s)?(?:предыдущие|прежние|вышеуказанные)\s"
        r"(?:инструкции|указания|правила|команды)",
        r"(?:önceki|yukarıdaki)\s(?:tüm\s|bütün\s)?(?:talimatları|yönergeleri|kuralları)\s"
        r"(?:yok say|görmezden gel)",
        r"(?:请)?(?:忽略|無視|无视)(?:所有|全部|一切|掉)?(?:之前|以上|先前|上述|前面|此前|上面)?"
        r"(?:的)?(?:所有|全部|一切)?(?:的)?(?:指令|指示|提示词|命令|规则|規則|评分标准)",
        r"(?:以前|これまで|上記|前|先ほど|上)の(?:すべての|全ての|全)?(?:指示|命令|指令|ルール)"
        r"(?:は|を)(?:すべて|全て)?無視",
        r"(?:이전|위|앞)(?:의)?\s?(?:모든\s?)?(?:지시|명령|지침|규칙)(?:\s?사항)?(?:를|을|은|는)?\s?"
        r"(?:모두\s?|전부\s?)?무시",
        r"تجاهل\s(?:جميع\s|كل\s)?(?:التعليمات|الأوامر|القواعد)\s(?:السابقة|أعلاه)",
        r"(?:पिछले|पूर्व|उपरोक्त)\s(?:सभी\s)?(?:निर्देशों|आदेशों|नियमों)\sको\s"
        r"(?:अनदेखा|नज़रअंदाज़)",
        r"\bbỏ qua\s(?:tất cả\s)?(?:các\s)?(?:hướng dẫn|chỉ dẫn|lệnh)\s(?:trước|ở trên)",
        r"\babaikan\s(?:semua\s)?(?:instruksi|perintah|petunjuk)\s(?:sebelumnya|di atas)",
    ),
    _make_rule(
        "demand",
        "asks to be chosen",
        """this answer  this response  this reply  this output  this completion  this submission
        my answer  my response  my reply  my output  my completion  my submission  this very
        my own  this one  this particular  the present  choose me  pick me  select me  rate me
        rank me  judge me  score me  prefer me  response a  response b  assistant a  assistant b
        answer a  answer b  output a  output b  model a  model b  model_a  model_b  response 1
        response 2  answer 1  answer 2  output 1  output 2  candidate  must be [  should be [
        wähle  bewerte  choisi  elige  elija  escoge  selecciona  escolha  selecione  scegli
        выбер  选  選  고르  골라  선택  اختر""",
        rf"{_ORDER_START}(?=[a-z])(?:{_CHOOSE}\s(?:(?:only\s)?(?:this|my|the present)\s(?:\w+\s)?"
        rf"{_ANSWER}\b|(?:only\s|that\s)?(?:me|{_LABEL})\s(?:as|over|is|because|regardless|"
        rf"no matter|instead|and not)\b)|{_RATE}\s(?:this|my|the present|me)\s?"
        rf"(?:\w+\s)?(?:{_ANSWER}\s)?(?:as\s|with\s|at\s|to be\s|is\s|an?\s|the\s)?{_BEST})",
        rf"\b(?:this|my)\s{_ANSWER}\s(?:\w+\s)?(?:must|should|has to|deserves to|needs to|shall)\s"
        r"(?:always\s)?(?:be\s)?(?:chosen|picked|selected|preferred|win\b|declared|judged\s\w+\sbest|"
        rf"(?:rated|ranked|scored|graded|marked|judged)\s(?:as\s|with\s|at\s)?{_BEST})",
        rf"\byou\s{_MUST}\s(?:always\s|now\s|only\s)?{_CHOOSE}\s"
        rf"(?:(?:this|my)(?:\s{_ANSWER})?|{_LABEL})\b",
        rf"\b(?:verdict|judge?ment|decision|choice)\s{_MUST}\s(?:always\s)?be\s"
        rf"(?:\W{{0,3}})(?:{_LABEL}|this|my|\[\[)",
        r"\bwähle(?:n sie)?\s(?:bitte\s|immer\s)?(?:diese|meine)\s(?:antwort|lösung)",
        r"\bbewerte(?:n sie)?\s(?:diese|meine)\s(?:antwort|lösung)\s(?:als|mit)\s(?:die\s|der\s)?"
        r"(?:best|höchst|10)",
        r"\bchoisi(?:s|ssez|r)\s(?:toujours\s)?(?:cette|ma)\s(?:réponse|solution)",
        r"\b(?:elige|elija|escoge|selecciona|escolha|selecione)\s(?:siempre\s|sempre\s)?"
        r"(?:esta|mi|a minha|minha)\s(?:respuesta|resposta)",
        r"\bscegli(?:ete|ere)?\s(?:sempre\s)?(?:questa|la mia)\srisposta",
        r"\bвыбер(?:и|ите)\s(?:именно\s)?(?:этот|мой)\sответ",
        r"(?:请|務必|务必|必须|必須)(?:你)?(?:选择|選擇|选|選)(?:这个|這個|本|我的|此)"
        r"(?:回答|答案|回复|回應)",
        r"(?:この|私の)(?:回答|答え|応答)を(?:必ず)?(?:選択|選んで|最高)",
        r"(?:이|제|나의|내)\s?(?:답변|응답|대답)(?:을|를)\s?(?:반드시\s?)?(?:선택|골라)",
        r"اختر\s(?:هذه|هذا)\s(?:الإجابة|الرد|الجواب)",
    ),
    _make_rule(
        "address",
        "addresses the judge",
        "judge  grader  evaluator  rater  assessor  examiner  gutachter  schiedsrichter  juror  "
        "richter  juez  评委  裁判  评审  评判  審査員  심사",
        rf"\bas\s(?:the|an?|your role as(?: the| an?)?)\s{_JUDGE}{_GAP}"
        rf"(?:you\s{_MUST}|please\s|your\s(?:task|job|duty)|{_CHOOSE}\s(?:this|my|{_LABEL}))",
        rf"\b(?:dear|attention|hello|hey|(?:note|message|instructions?|reminder|hint)\s(?:to|for))"
        rf"\s?:?\s?(?:the\s|all\s)?{_JUDGE}\b[^\n]{{0,60}}?\b"
        rf"(?:{_CHOOSE}|{_RATE}|ignore|disregard|this\s{_ANSWER})\b",
        rf"(?:^|[\n.!?\[(<*#])\s{{0,3}}{_JUDGE}\s?[:,]\s{{0,2}}(?:please\s|you\s{_MUST}\s|always\s)?"
        rf"(?:{_CHOOSE}|{_RATE}|ignore|disregard|give)\b",
        rf"\byou\sare\s(?:now\s)?an?\s{_JUDGE}\s(?:who|that|and|whose)\s(?:\w+\s){{0,3}}"
        r"(?:prefers?|chooses?|favou?rs?|picks?|selects?|must)\b",
        r"\bals\s(?:gutachter|schiedsrichter|juror|richter)(?:in)?\s(?:musst|müssen|sollst)\s"
        r"(?:du|sie)",
        r"\bcomo\sjuez[\s,]{1,2}(?:debes?|tienes?|tiene)\b",
        r"(?:作为|身为|亲爱的)(?:评委|裁判|评审|评判者)",
        r"審査員(?:として|の皆)[^\n]{0,20}(?:選|無視)",
        r"심사위원(?:으로서|님)[^\n]{0,20}(?:선택|무시)",
    ),
    _make_rule(
        "tag",
        "contains tags that separate the turns of a chat or the parts of a judge's prompt",
        "<|  [inst]  [/inst]  <<sys>>  <</sys>>  <start_of_turn>  [the end of  [the start of  "
        "[system]  ### system  [end of  <system  </system  human:  human :  <<  >>",
        r"<\|(?:im_start|im_end|system|assistant|user|start_header_id|end_header_id|eot_id)\|>"
        r"(?:\s?(?:system|assistant|user))?",
        r"\[/?inst\]",
        r"<</?sys>>",
        r"<start_of_turn>",
        r"(?:\[|<\|)the\s(?:start|end)\sof\s(?:assistant|response|reference)[^\]|\n]{0,40}(?:\]|\|>)",
        r"\[end\sof\s(?:answer|response|assistant)[^\]\n]{0,20}\]",
        r"(?:^|\n)(?:\[system\]|###\ssystem\s?:)",
        r"</?system(?:[ _-]?(?:prompt|message|note|override))?>",
        r"\n\nhuman\s?:",
        r"(?:^|\n)\s?<<[0-9a-f]{8}\b|\b[0-9a-f]{8}>>",
    ),
)
